// Package bmc reads the event log of a node's management controller, as "ipmitool sel list" and "sel elist" print it.
package bmc

import (
	"bytes"
	"fmt"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/artifact/rows"
	"faultline/analysis/line"
	"faultline/pattern"
)

// Kind is what the engine knows of it.
var Kind = rows.Kind{
	Name:      "event logs of nodes' BMCs (ipmitool sel list, sel elist)",
	Slug:      "bmc",
	Title:     "BMC event logs",
	Limits:    "A BMC keeps events for years, by its own clock and in its own time zone: compare them with the job's time. A log without events doesn't clear the node.",
	Machine:   true,
	Recognise: recognise,
	Pasted:    pasted,
	Row:       row,
}

// event is a row: "  1a | 05/06/2026 | 09:12:03 UTC | Memory DIMM_A1 | Uncorrectable ECC | Asserted". Before the clock is set, "Pre-Init" and
// seconds stand in the place of date and time. Source: ipmitool lib/ipmi_sel.c.
var event = pattern.New(`^\s{0,4}[0-9a-f]{1,4} \| ?(\d\d/\d\d/\d{2,4}|Pre-Init) ?\s?\| ?([\d:]{8,10}(?: [A-Z]{3,5})?) ?\| ([\w #./+%-]{1,60}?) \| ([^|]{1,120}?)\s*(?:\| (Asserted|Deasserted).{0,80})?$`)

var shortYear = pattern.New(`/(\d\d)$`)

// meanings are the events that a job feels, by what ipmitool calls them: the longer wording first. Source: IPMI 2.0, table 42-3.
var meanings = []struct{ event, says string }{
	{"Uncorrectable ECC", "main memory had an error that it could not correct"},
	{"Correctable ECC logging limit reached", "main memory had so many corrected errors that the BMC stopped recording them"},
	{"Uncorrectable machine check", "the processor reported an error that it could not correct"},
	{"IERR", "the processor stopped because of an internal error"},
	{"Thermal Trip", "the processor shut down because it was too hot"},
	{"Upper Non-recoverable going high", "a reading passed the limit beyond which the hardware may be damaged"},
	{"Upper Critical going high", "a reading passed its critical limit"},
	{"Bus Fatal Error", "a fatal error on the PCIe bus"},
	{"Bus Uncorrectable error", "an error on the PCIe bus that could not be corrected"},
	{"PCI SERR", "a fatal error on the PCIe bus"},
	{"PCI PERR", "a parity error on the PCIe bus"},
	{"Predictive failure", "a part is about to fail"},
	{"Power Supply AC lost", "a power supply lost its input"},
	{"Failure detected", "a part failed"},
	{"Power off/down", "the node lost power or was switched off"},
	{"Run-time critical stop", "the operating system stopped because of a fatal error"},
	{"OS Critical Stop", "the operating system stopped because of a fatal error"},
}

func row(text string) (rows.Row, bool) {
	m := event.FindStringSubmatch(text)
	if m == nil || m[5] == "Deasserted" {
		return rows.Row{}, false
	}
	at, _ := line.ParseStamp([]byte(shortYear.ReplaceAllString(m[1], "/20$1") + " " + m[2]))
	for _, x := range meanings {
		if strings.Contains(m[4], x.event) {
			return rows.Row{Time: at, Says: fmt.Sprintf("%s: %s (%s %s by the BMC's clock)", m[3], x.says, m[1], m[2]), Literals: []string{"| " + m[3] + " |", x.event}}, true
		}
	}
	return rows.Row{}, false
}

// recognise says that most lines of a file are events, of which there are at least two.
func recognise(head []byte) bool {
	n, all := count(head)
	return n >= 2 && 2*n >= all
}

// pasted says that a text holds events: their form is like nothing else in a log.
func pasted(text []byte) bool {
	n, _ := count(text)
	return n >= 1
}

func count(text []byte) (events, all int) {
	if !bytes.Contains(text, []byte(" | ")) {
		return 0, 0
	}
	for l := range bytes.Lines(text) {
		s, _, _ := lines.Peel(string(bytes.TrimRight(l[:min(len(l), lines.Max)], "\r\n")))
		if strings.TrimSpace(s) == "" {
			continue
		}
		all++
		if event.MatchString(s) {
			events++
		}
	}
	return events, all
}
