package blockkit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Sizes of tables, in characters. A row is at most rowSize, so that header and row always find room together.
const (
	tableSize = 9000
	rowSize   = 3000
)

func (f *fitter) table(b Table) []piece {
	if f.view {
		f.lost.rows += len(b.Rows)
		return nil
	}
	rows := f.rows(b.Rows)
	if len(rows) == 0 {
		return nil
	}
	columns := len(rows[0])
	b.ColumnSettings = slices.Clone(b.ColumnSettings[:min(len(b.ColumnSettings), columns)])
	for i := range b.ColumnSettings {
		if a := b.ColumnSettings[i].Align; a != "left" && a != "center" && a != "right" {
			b.ColumnSettings[i].Align = ""
		}
	}
	var out []piece
	for _, g := range groupBy(rows, bound("table.rows").budget, tableSize, sizeOfRow) {
		part := b
		part.Rows = g
		out = append(out, piece{block: part, table: true, worth: losses{rows: len(g)}})
	}
	return out
}

func (f *fitter) dataTable(b DataTable) []piece {
	if f.view {
		f.lost.rows += max(len(b.Rows)-1, 0)
		return nil
	}
	if b.Caption == "" {
		b.Caption = "Table"
	}
	b.Caption = f.clipTo(b.Caption, bound("data_table.caption").budget-20)
	rows := f.rows(b.Rows)
	if len(rows) == 0 {
		return nil
	}
	header := f.header(rows[0])
	if len(rows) == 1 { // Slack wants at least one row below the header
		return f.richText(RichText{BlockID: b.BlockID, Elements: RichElements{RichSection{Elements: Inlines{Run{Text: b.Caption + ": no rows"}}}}})
	}
	b.PageSize = min(max(b.PageSize, 0), bound("data_table.page_size").max)
	b.RowHeaderColumnIndex = min(max(b.RowHeaderColumnIndex, 0), len(header)-1)
	groups := groupBy(rows[1:], bound("data_table.rows").budget-1, tableSize-sizeOfRow(header), sizeOfRow)
	var out []piece
	for i, g := range groups {
		part := b
		if len(groups) > 1 {
			part.Caption = fmt.Sprintf("%s (part %d of %d)", b.Caption, i+1, len(groups))
		}
		part.Rows = append([]Row{header}, g...)
		out = append(out, piece{block: part, table: true, worth: losses{rows: len(g)}})
	}
	return out
}

// rows repairs rows: as many cells in each, no empty cell, none too long.
func (f *fitter) rows(in []Row) []Row {
	columns := 0
	for _, r := range in {
		columns = max(columns, len(r))
	}
	if most := bound("table.columns").budget; columns > most {
		f.lost.columns += columns - most
		columns = most
	}
	if columns == 0 {
		return nil
	}
	out := make([]Row, 0, len(in))
	for _, r := range in {
		row := make(Row, columns)
		for i := range row {
			row[i] = RawText{Text: " "}
			if i < len(r) {
				row[i] = f.cell(r[i], bound("cell.text").budget)
			}
		}
		if sizeOfRow(row) > rowSize {
			for i := range row {
				row[i] = f.cell(row[i], rowSize/columns)
			}
		}
		out = append(out, row)
	}
	return out
}

// header makes a header row of a row: plain texts, not too long.
func (f *fitter) header(r Row) Row {
	out := make(Row, len(r))
	for i, c := range r {
		out[i] = RawText{Text: f.clipTo(cellText(c), 60)}
	}
	return out
}

func (f *fitter) cell(c Cell, most int) Cell {
	c, ok := deref(c)
	if !ok {
		return RawText{Text: " "}
	}
	switch c := c.(type) {
	case RichText:
		if parts := f.richParts(c.Elements); len(parts) > 0 && sizeOfCell(RichText{Elements: parts}) <= most && len(parts) <= 20 {
			return RichText{Elements: parts}
		}
	case RawNumber:
		if !math.IsNaN(c.Value) && !math.IsInf(c.Value, 0) {
			if c.Text == "" {
				c.Text = strconv.FormatFloat(c.Value, 'g', -1, 64)
			}
			c.Text = f.clipTo(c.Text, most)
			return c
		}
	}
	return RawText{Text: f.clipTo(cellText(c), most)}
}

// cellText is what a cell says; a space for nothing.
func cellText(c Cell) string {
	s := ""
	switch c := c.(type) {
	case RawText:
		s = c.Text
	case RawNumber:
		if s = c.Text; s == "" {
			s = strconv.FormatFloat(c.Value, 'g', -1, 64)
		}
	case RichText:
		s = richPlain(c.Elements)
	}
	if s == "" {
		s = " "
	}
	return s
}
