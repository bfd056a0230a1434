package knowledge

// LookAlike is a mechanism that leaves similar traces, and what tells the two apart.
type LookAlike struct {
	Mechanism Slug // slug of the other one
	Tell      string
}

// LookAlikes are the mechanisms that a person may mistake this one for, and how to tell.
func LookAlikes(slug Slug) []LookAlike {
	if m := mechanismIndex()[slug]; m != nil {
		return m.LookAlikes
	}
	return nil
}
