//go:build slackclients

package slack

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stated says, for each field of which @slack/types states one or more maxima in its comment, which limits of
// messages/blockkit those are, in the order of the comment.
var stated = map[string][]string{
	"Block.block_id":                  {"block_id"},
	"Action.action_id":                {"action_id"},
	"ActionsBlock.elements":           {"actions.elements"},
	"ContextBlock.elements":           {"context.elements"},
	"DataTableBlock.page_size":        {"data_table.page_size"},
	"HeaderBlock.text":                {"header.text"},
	"ImageBlock.alt_text":             {"image.alt_text"},
	"ImageBlock.title":                {"image.title"},
	"InputBlock.label":                {"input.label"},
	"InputBlock.hint":                 {"input.hint"},
	"MarkdownBlock.text":              {"markdown.text"},
	"SectionBlock.text":               {"section.text"},
	"SectionBlock.fields":             {"section.fields", "section.field"},
	"TableBlock.rows":                 {"table.rows", "table.columns"},
	"TableBlock.column_settings":      {"table.column_settings"},
	"PlainTextElement.text":           {"context.text"},
	"MrkdwnElement.text":              {"context.text"},
	"Button.text":                     {"button.text"},
	"Button.value":                    {"button.value"},
	"Button.url":                      {"url"},
	"Button.accessibility_label":      {"button.accessibility_label"},
	"Confirm.title":                   {"confirm.title"},
	"Confirm.text":                    {"confirm.text"},
	"Confirm.confirm":                 {"confirm.button"},
	"Confirm.deny":                    {"confirm.button"},
	"OptionDescriptor.value":          {"option.value"},
	"OptionDescriptor.description":    {"option.description"},
	"OptionDescriptor.url":            {"url"},
	"MrkdwnOption.text":               {"option.text"},
	"PlainTextOption.text":            {"option.text"},
	"OptionGroup.label":               {"option.text"},
	"OptionGroup.options":             {"select.options"},
	"StaticSelect.options":            {"select.options"},
	"StaticSelect.option_groups":      {"select.option_groups"},
	"MultiStaticSelect.options":       {"select.options"},
	"MultiStaticSelect.option_groups": {"select.option_groups"},
	"Checkboxes.options":              {"choice.options"},
	"RadioButtons.options":            {"choice.options"},
	"Overflow.options":                {"overflow.options"},
	"Placeholdable.placeholder":       {"placeholder"},
	"PlainTextInput.min_length":       {"plain_text_input.length"},
	"RichTextList.indent":             {"rich_text.indent"},
	"RichTextBorderable.border":       {"rich_text.border"},
	"FileInput.max_files":             {"file_input.max_files"},
	"BaseView.blocks":                 {"view.blocks"},
	"BaseView.private_metadata":       {"view.private_metadata"},
	"BaseView.callback_id":            {"view.callback_id"},
	"ModalView.title":                 {"view.title"},
	"ModalView.close":                 {"view.button"},
	"ModalView.submit":                {"view.button"},
}

// unused are the types that neither the bot nor its validator know.
var unused = []string{"CardBlock", "CarouselBlock", "ContainerBlock", "ContextActionsBlock", "VideoBlock", "TaskCardBlock",
	"PlanBlock", "FeedbackButtons", "IconButton", "WorkflowButton", "RichTextInput", "MaxItemsSelectable"}

// What the comments of Slack's own types state, the validator enforces; and it names them as its source only where they
// do state it.
func TestLimitsAreThoseOfSlacksTypes(t *testing.T) {
	installed(t)
	ours := readLimits(t)
	found := map[string]bool{}
	states := map[string]bool{} // limits by name
	for field, maxima := range readMaxima(t) {
		found[field] = true
		owner, _, _ := strings.Cut(field, ".")
		names, known := stated[field]
		if !known {
			if !slices.Contains(unused, owner) {
				t.Errorf("@slack/types states for %s the maxima %v, and nobody says which limits of messages/blockkit those are", field, maxima)
			}
			continue
		}
		if len(maxima) != len(names) {
			t.Errorf("@slack/types states for %s the maxima %v, not one for each of %v", field, maxima, names)
			continue
		}
		for i, name := range names {
			states[name] = true
			if l, there := ours[name]; !there || l.max != maxima[i] {
				t.Errorf("%s: @slack/types states %d, messages/blockkit has %+v as %s", field, maxima[i], l, name)
			}
		}
	}
	for field := range stated {
		if !found[field] {
			t.Errorf("@slack/types states no maximum for %s", field)
		}
	}
	for name, l := range ours {
		if l.fromTypes && !states[name] {
			t.Errorf("messages/blockkit has the limit %s from @slack/types, which does not state it", name)
		}
		if !l.fromTypes && states[name] {
			t.Logf("@slack/types confirms the limit %s, for which messages/blockkit names another source", name)
		}
	}
}

// limit is what is compared of one line of the table.
type limit struct {
	max       int
	fromTypes bool
}

// readLimits reads the table from the source, where it says more than the package shows.
func readLimits(t *testing.T) map[string]limit {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "messages", "blockkit", "limits.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]limit{}
	ast.Inspect(file, func(n ast.Node) bool {
		line, ok := n.(*ast.CompositeLit)
		if !ok || len(line.Elts) != 6 {
			return true
		}
		name, err := strconv.Unquote(literal(line.Elts[0]))
		if err != nil {
			return true
		}
		top, err := strconv.Atoi(literal(line.Elts[3]))
		if err != nil {
			t.Errorf("the maximum of %s is no number: %v", name, err)
		}
		l := limit{max: top}
		ast.Inspect(line.Elts[5], func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			l.fromTypes = l.fromTypes || ok && id.Name == "types"
			return true
		})
		out[name] = l
		return true
	})
	if len(out) < 40 {
		t.Fatalf("only %d limits were found in the table of messages/blockkit; its form has changed", len(out))
	}
	return out
}

func literal(e ast.Expr) string {
	if lit, ok := e.(*ast.BasicLit); ok {
		return lit.Value
	}
	return ""
}

var (
	declaration = regexp.MustCompile(`^(?:export )?(?:interface|type) (\w+)`)
	property    = regexp.MustCompile(`^\s+(\w+)\??:(?: \d+ \|)* ?(\d*)`) // with the last of a union of numbers
	link        = regexp.MustCompile(`\{@link [^}]*\}`)
	maximum     = regexp.MustCompile(`(?i)(?:\bmax(?:imum)?\b|\bup to\b|\blimit\b|\bfrom \d+ .{0,12}to\b)[^.]*?\b(\d[\d,]*)`)
)

// readMaxima reads the comments of the types, by "Interface.field".
func readMaxima(t *testing.T) map[string][]int {
	t.Helper()
	dist := filepath.Join("node_modules", "@slack", "types", "dist")
	out := map[string][]int{}
	for _, name := range []string{"block-kit/blocks", "block-kit/block-elements", "block-kit/composition-objects", "block-kit/extensions", "views"} {
		text, err := os.ReadFile(filepath.Join(dist, filepath.FromSlash(name)+".d.ts"))
		if err != nil {
			t.Fatal(err)
		}
		var owner, comment string
		inside := false
		for line := range strings.Lines(string(text)) {
			switch trimmed := strings.TrimSpace(line); {
			case strings.HasPrefix(trimmed, "/**"):
				comment, inside = trimmed, !strings.HasSuffix(trimmed, "*/")
			case inside:
				comment += " " + strings.TrimPrefix(trimmed, "*")
				inside = !strings.HasSuffix(trimmed, "*/")
			default:
				if m := declaration.FindStringSubmatch(line); m != nil {
					owner = m[1]
				} else if m := property.FindStringSubmatch(line); m != nil {
					field := owner + "." + m[1]
					out[field] = append(out[field], numbers(comment)...)
					if m[2] != "" {
						out[field] = append(out[field], numbers("maximum "+m[2])...)
					}
					if len(out[field]) == 0 {
						delete(out, field)
					}
				}
				comment = ""
			}
		}
	}
	return out
}

func numbers(comment string) []int {
	var out []int
	for _, m := range maximum.FindAllStringSubmatch(strings.ReplaceAll(link.ReplaceAllString(comment, ""), "`", ""), -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if err != nil {
			panic(fmt.Sprintf("%q is no number", m[1]))
		}
		out = append(out, n)
	}
	return out
}

// The reader of comments finds what a person finds.
func TestMaximaAreReadFromComments(t *testing.T) {
	for comment, want := range map[string][]int{
		"Maximum length for this field is 255 characters. Use a new `block_id`.": {255},
		"Limit 12,000 characters max.":                                           {12000},
		"Minimum of `1`, maximum of `10`. Defaults to `10` if unspecified.":      {10},
		"An array of up to 5 {@link https://x/max-9 X}":                          {5},
		"Maximum 100 rows. Each row is an array with a max of 20 table cells.":   {100, 20},
		"Can be a number from 0 (default) to 8.":                                 {8},
		"The maximum length of input. If the user provides more than 7, no.":     nil,
	} {
		if got := numbers(comment); !slices.Equal(got, want) {
			t.Errorf("%q states %v, %v were read", comment, want, got)
		}
	}
}
