package blockkit

import "fmt"

// limit is one bound of Block Kit. A value of min…max passes; beyond it Slack refuses the whole message. What the bot
// sends keeps to budget, which is smaller where the published number was not true for everybody, or not true always.
type limit struct {
	name     string
	unit     string // "characters" (Unicode code points, not bytes), "items", "value"
	min, max int
	budget   int // 0: as max
	source   string
}

// Where the numbers come from. The reference was read in November 2026.
const (
	doc      = "docs.slack.dev/reference/block-kit"
	types    = "@slack/types 3.2.0"
	observed = "reported by users"
	memory   = "common knowledge, not found in the reference" // to be confirmed on a live workspace
)

// limits is the only place where a number of Slack's stands.
var limits = []limit{
	// Messages and modals.
	{"message.text", "characters", 0, 40000, 3900, doc + ": beyond it truncated; beyond 4,000 split by some clients"},
	{"message.blocks", "items", 0, 50, 0, doc},
	{"message.characters", "characters", 0, 13200, 12000, observed + ": msg_blocks_too_long at about 13,200 (bolt-js#2509)"},
	{"message.tables", "items", 0, 1, 0, observed + ": only_one_table_allowed in early releases of the table block"},
	{"message.table characters", "characters", 0, 10000, 0, doc + "/blocks/table-block, …/data-table-block: over all cells of all tables; a newer copy says 20,000"},
	{"view.blocks", "items", 1, 100, 0, doc},
	{"view.title", "characters", 1, 24, 0, types},
	{"view.button", "characters", 1, 24, 0, types},
	{"view.callback_id", "characters", 1, 255, 0, types},
	{"view.external_id", "characters", 1, 255, 0, memory},
	{"view.private_metadata", "characters", 0, 3000, 0, types},
	{"event_type", "characters", 1, 255, 0, memory},

	// What all blocks and elements share.
	{"block_id", "characters", 1, 255, 0, types},
	{"action_id", "characters", 1, 255, 0, doc},
	{"url", "characters", 1, 3000, 0, types},

	// Blocks.
	{"section.text", "characters", 1, 3000, 0, types},
	{"section.fields", "items", 1, 10, 0, types},
	{"section.field", "characters", 1, 2000, 0, types},
	{"header.text", "characters", 1, 150, 0, types},
	{"header.level", "value", 1, 4, 0, doc + "/blocks/header-block"},
	{"context.elements", "items", 1, 10, 0, types},
	{"context.text", "characters", 1, 3000, 0, types},
	{"actions.elements", "items", 1, 25, 0, types},
	{"image.alt_text", "characters", 1, 2000, 0, types},
	{"image.title", "characters", 1, 2000, 0, types},
	{"input.label", "characters", 1, 2000, 0, types},
	{"input.hint", "characters", 1, 2000, 0, types},
	{"markdown.text", "characters", 1, 12000, 0, types},
	{"table.rows", "items", 1, 100, 0, types},
	{"table.columns", "items", 1, 20, 0, types},
	{"table.column_settings", "items", 0, 20, 0, types},
	{"data_table.rows", "items", 2, 101, 0, doc + "/blocks/data-table-block, header included; a newer copy says 201"},
	{"data_table.columns", "items", 1, 20, 0, observed + " (assistant-ui#5785)"},
	{"data_table.page_size", "value", 1, 100, 0, types},
	{"data_table.caption", "characters", 1, 3000, 200, memory},
	{"data_table.row_header_column_index", "value", 0, 19, 0, "a column of the table"},
	{"cell.text", "characters", 1, 10000, 2000, "the characters of a whole table; the budget keeps a row readable"},

	// Rich text. Slack publishes no bound of a single text; the budget keeps each piece movable to another message.
	{"rich_text.elements", "items", 1, 1000, 0, memory},
	{"rich_text.part", "items", 1, 1000, 0, memory},
	{"rich_text.text", "characters", 1, 12000, 3000, memory},
	{"rich_text.indent", "value", 0, 8, 0, types},
	{"rich_text.offset", "value", 0, 100000, 0, memory},
	{"rich_text.border", "value", 0, 1, 0, types},
	{"rich_text.user_id", "characters", 2, 255, 0, memory},
	{"rich_text.emoji", "characters", 1, 255, 0, memory},

	// Elements.
	{"button.text", "characters", 1, 75, 0, types},
	{"button.value", "characters", 1, 2000, 0, types},
	{"button.accessibility_label", "characters", 1, 75, 0, types},
	{"confirm.title", "characters", 1, 100, 0, types},
	{"confirm.text", "characters", 1, 300, 0, types},
	{"confirm.button", "characters", 1, 30, 0, types},
	{"select.options", "items", 1, 100, 0, types},
	{"select.option_groups", "items", 1, 100, 0, types},
	{"choice.options", "items", 1, 10, 0, types},
	{"overflow.options", "items", 1, 5, 0, types},
	{"option.text", "characters", 1, 75, 0, types},
	{"option.value", "characters", 1, 75, 0, types + "; newer copies of the reference say 150"},
	{"option.description", "characters", 1, 75, 0, types},
	{"placeholder", "characters", 1, 150, 0, types},
	{"plain_text_input.length", "value", 0, 3000, 0, types},
	{"plain_text_input.max_length", "value", 1, 3000, 0, doc},
	{"initial_value", "characters", 1, 3000, 0, "what may be typed"},
	{"file_input.max_files", "value", 1, 10, 0, types},
	{"file_input.filetypes", "items", 1, 100, 0, memory},
}

var limitByName = func() map[string]limit {
	out := make(map[string]limit, len(limits))
	for _, l := range limits {
		if l.budget == 0 {
			l.budget = l.max
		}
		out[l.name] = l
	}
	return out
}()

// bound looks a limit up. A name that the table does not have is a mistake in this package.
func bound(name string) limit {
	l, ok := limitByName[name]
	if !ok {
		panic(fmt.Sprintf("blockkit: no limit is called %q", name))
	}
	return l
}
