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
	knowledge.NativeCrash:        {Machine: true, Step: true},
	knowledge.CUDAError:          {Machine: true, Step: true},
	knowledge.GPUHang:            {Machine: true},
	knowledge.GPUECC:             {Machine: true},
	knowledge.GPUOffBus:          {Machine: true},
	knowledge.GPUNVLink:          {Machine: true},
	knowledge.GPUFirmware:        {Machine: true},
	knowledge.SilentCorruption:   {Machine: true},
	knowledge.LinkError:          {Machine: true},
	knowledge.NodeFailure:        {Machine: true},
	knowledge.ThermalPower:       {Machine: true},
	knowledge.RankStalled:        {Machine: true, Step: true},
	knowledge.DataloaderStall:    {Machine: true, Step: true},
	knowledge.SlowRank:           {Machine: true},
	knowledge.Exception:          {Step: true},
	knowledge.NonFiniteLoss:      {Step: true},
	knowledge.GPUOOM:             {Step: true},
	knowledge.CollectiveMismatch: {Step: true},
	knowledge.LoneWaiter:         {Step: true},
	knowledge.BadSample:          {Step: true, Item: passing},
}

// AgainOf is what recurrence means for a mechanism; nothing, where the table has no row.
func AgainOf(slug knowledge.Slug) Again { return again[slug] }
