package mechanism

import "faultline/knowledge"

// Again says what it means when earlier runs met the same. Taxonomy: the same host again speaks for the machine where a
// machine can cause such a failure; the same step again speaks for code or data; the same item twice speaks for the item.
type Again struct {
	// Machine: the hardware or the state of a node can cause it.
	Machine bool
	// Step: a program that does the same fails so after the same step.
	Step bool
	// Item holds the origins of those rivals that the same item in another run speaks against.
	Item []string
}

// passing are origins whose faults come and go: they do not pick the same item in two runs.
var passing = []string{"storage", "network", "data-loading-stall", "unknown"}

var again = map[knowledge.Slug]Again{
	"native-crash":        {Machine: true, Step: true},
	"cuda-error":          {Machine: true, Step: true},
	"gpu-hang":            {Machine: true},
	"gpu-ecc":             {Machine: true},
	"gpu-off-bus":         {Machine: true},
	"gpu-nvlink":          {Machine: true},
	"gpu-firmware":        {Machine: true},
	"silent-corruption":   {Machine: true},
	"link-error":          {Machine: true},
	"node-failure":        {Machine: true},
	"thermal-power":       {Machine: true},
	"rank-stalled":        {Machine: true, Step: true},
	"dataloader-stall":    {Machine: true, Step: true},
	"slow-rank":           {Machine: true},
	"exception":           {Step: true},
	"non-finite-loss":     {Step: true},
	"gpu-oom":             {Step: true},
	"collective-mismatch": {Step: true},
	"lone-waiter":         {Step: true},
	"bad-sample":          {Step: true, Item: passing},
}

// AgainOf is what recurrence means for a mechanism; nothing, where the table has no row.
func AgainOf(slug knowledge.Slug) Again { return again[slug] }
