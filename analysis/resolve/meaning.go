package resolve

import "faultline/knowledge"

// Meaning is what a failure is taken for.
type Meaning struct {
	Mechanism knowledge.Slug
	Role      knowledge.Role
	Direct    bool
	Sign      knowledge.ID
}

// as is the same meaning in another role.
func (m Meaning) as(role knowledge.Role) Meaning {
	m.Role = role
	return m
}

// of is the same meaning of another mechanism.
func (m Meaning) of(mechanism knowledge.Slug) Meaning {
	m.Mechanism = mechanism
	return m
}

// following is the meaning of a line that something else explains.
func (m Meaning) following() Meaning { return Meaning{Role: knowledge.ConsequenceRole, Sign: m.Sign} }

func (m Meaning) String() string {
	s := string(m.Role)
	if m.Mechanism != "" {
		s = string(m.Mechanism) + " (" + s + ")"
	}
	if m.Sign != "" {
		s += " by " + string(m.Sign)
	}
	return s
}

// in is what a meaning becomes in a case of its entry.
func (m Meaning) in(c *knowledge.Case) Meaning {
	switch c.Is {
	case "":
	case knowledge.Nothing:
		m.Mechanism = ""
	default:
		m.Mechanism = c.Is
	}
	if c.As != "" {
		m.Role = c.As
	}
	if c.Proves != knowledge.AsBefore {
		m.Direct = c.Proves == knowledge.Alone
	}
	if c.By != "" {
		m.Sign = c.By
	}
	return m
}
