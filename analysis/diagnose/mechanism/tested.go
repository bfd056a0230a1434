package mechanism

import (
	"strconv"

	"faultline/analysis/artifact/nccltests"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// MeasuredEvidence quotes the row of a test.
func MeasuredEvidence(m *resolve.Measured) incident.Evidence { return RowEvidence(m.File, &m.Row) }

// RowEvidence quotes a row of nccl-tests, of its table or of its report.
func RowEvidence(file string, row *nccltests.Row) incident.Evidence {
	if row.Record == "" {
		return QuotePlace(file, row.Place, &incident.Predicate{Literals: []string{strconv.FormatInt(row.Size, 10)}})
	}
	place, half := ".out_of_place", &row.Out
	if !half.There || row.In.There && row.In.Bus > half.Bus {
		place, half = ".in_place", &row.In
	}
	return MemberEvidence(file, row.Record+place, "bus_bw", half.Value)
}

// MemberEvidence quotes a member of a JSON report.
func MemberEvidence(file, place, name, value string) incident.Evidence {
	return incident.Evidence{Kind: incident.KindRecord, File: file, Place: place, Predicate: &incident.Predicate{Members: []incident.Member{{Name: name, Value: value}}}}
}

// PathEvidence quotes the result of a test of a path.
func PathEvidence(p *resolve.PathTest) incident.Evidence {
	if !p.JSON {
		return QuotePlace(p.File, p.Place, nil)
	}
	return MemberEvidence(p.File, p.Record, p.Member, p.Value)
}
