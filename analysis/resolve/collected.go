package resolve

import "faultline/analysis/artifact/collected"

// CollectedList is what a bundle says of one node.
type CollectedList struct {
	Name string
	List *collected.List
}
