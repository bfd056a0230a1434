package blockkit

// Table is a small table that is shown whole. A message holds one table at most, of whichever kind.
type Table struct {
	Type           tableType `json:"type"`
	BlockID        string    `json:"block_id,omitempty"`
	ColumnSettings []Column  `json:"column_settings,omitempty"`
	Rows           []Row     `json:"rows"`
}

// Column says how a column of a Table looks.
type Column struct {
	Align     string `json:"align,omitempty"` // left, center, right
	IsWrapped bool   `json:"is_wrapped,omitempty"`
}

// DataTable is a table with pages that readers can sort and filter. Its first row is the header, of RawText only.
type DataTable struct {
	Type                 dataTableType `json:"type"`
	BlockID              string        `json:"block_id,omitempty"`
	Caption              string        `json:"caption"`
	PageSize             int           `json:"page_size,omitempty"` // rows shown at once; Slack's default is 5
	RowHeaderColumnIndex int           `json:"row_header_column_index,omitempty"`
	Rows                 []Row         `json:"rows"`
}

// Row is one row; all rows of a table are equally long.
type Row []Cell

// Cell is RawText, RawNumber or RichText.
type Cell interface{ isCell() }

// RawText is plain text, never empty: a space stands for nothing.
type RawText struct {
	Type rawTextType `json:"type"`
	Text string      `json:"text"`
}

// RawNumber sorts by Value and shows Text.
type RawNumber struct {
	Type  rawNumberType `json:"type"`
	Value float64       `json:"value"`
	Text  string        `json:"text,omitempty"`
}

func (RawText) isCell()   {}
func (RawNumber) isCell() {}
func (RichText) isCell()  {}
