package mechanism

// All lists every mechanism, in the order in which ties are broken.
func All() []Mechanism {
	var all []Mechanism
	for _, family := range [][]Mechanism{aistore(), hangs(), hardware(), memory(), software(), startup(), data(), numerics(), performance(), endings(), symptoms(), nothing()} {
		all = append(all, family...)
	}
	return all
}
