package knowledge

// Trouble is a mechanism as the daemons of a store show it.
type Trouble struct {
	// Order sorts causes of one thing: the more a mechanism explains, the earlier.
	Order int
	// Told says what happened, for as long as nothing special is known: {daemon}, {records} and {time} are filled in.
	Told string
	// Led says what happened to a {daemon} as a consequence.
	Led string
	// LeadsTo are the mechanisms that follow from it. Times and daemons decide the rest.
	LeadsTo []Slug
	// Patience is for how many seconds who asks in vain says nothing: it began at least so long before its first record.
	Patience float64
	// Delay is how many seconds after its first consequence its first record may come: daemons look at some things once a minute.
	Delay float64
	// Spreads is for how many seconds it may have consequences on other daemons. What is Wide has them for as long as it lasts.
	Spreads float64
	// Side is on which side of a request it lies; "" where it is the daemon's.
	Side Side
	// Faults and Words are what the requests that it makes fail look like to a client: kinds of fault, and parts of lines.
	Faults, Words []string
}

// Side is on which side of a request to a store a trouble lies, where that is not a daemon's.
type Side string

const (
	ClientSide  Side = "client"
	NetworkSide Side = "network"
)

// NotFound is no mechanism: daemons say it of objects that are being moved.
const NotFound Slug = "not-found"

var notFound = Trouble{Order: 11, Led: "{daemon} did not find objects that were being moved"}

// Trouble returns how daemons show a mechanism; nothing of one that they do not.
func (s Slug) Trouble() Trouble {
	m := mechanismIndex()[s]
	switch {
	case s == NotFound:
		return notFound
	case m == nil || m.Trouble == nil:
		return Trouble{}
	}
	return *m.Trouble
}
