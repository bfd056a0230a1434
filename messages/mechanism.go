package messages

import "faultline/knowledge"

// mechanism looks up what people should know about a mechanism.
func mechanism(slug string) (knowledge.Mechanism, bool) {
	return knowledge.MechanismBySlug(knowledge.Slug(slug))
}

// terms are the glossary's entries.
func terms() []knowledge.Term { return knowledge.Glossary() }
