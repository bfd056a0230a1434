package blockkit

// check examines one JSON value.
type check func(c *checker, at string, v any)

// field is one property of an object.
type field struct {
	check    check
	required bool
}

func must(ch check) field { return field{ch, true} }
func may(ch check) field  { return field{ch, false} }

// object says which properties a JSON object has, apart from "type", and what must hold beyond the properties.
type object struct {
	fields map[string]field
	also   []func(c *checker, at string, o map[string]any)
}

// schema says of each family of typed objects which members it has. It is data: what an object may hold and how much.
type schema map[string]map[string]object

type fields = map[string]field

func newSchema() schema {
	blockID := may(hidden("block_id"))
	options := must(list("select.options", option(plain("option.text"))))
	choices := must(list("choice.options", option(text("option.text"))))
	confirm := may(an(object{fields: fields{
		"title": may(plain("confirm.title")), "text": must(text("confirm.text")), "confirm": may(plain("confirm.button")),
		"deny": may(plain("confirm.button")), "style": may(oneOf(Primary, Danger)),
	}}))
	placeholder := may(plain("placeholder"))
	file := may(an(object{fields: fields{"id": may(hidden("block_id")), "url": may(hidden("url"))}, also: alsoList(exactlyOne("id", "url"))}))
	style := may(an(object{fields: fields{"bold": may(boolean), "italic": may(boolean), "strike": may(boolean), "code": may(boolean)}}))
	border := may(number("rich_text.border"))
	inlines := must(list("rich_text.part", family("inline")))
	action := may(hidden("action_id"))
	focus := may(boolean)

	s := schema{}
	s["block"] = map[string]object{
		"divider": {fields: fields{"block_id": blockID}},
		"header":  {fields: fields{"block_id": blockID, "text": must(plain("header.text")), "level": may(number("header.level"))}},
		"section": {fields: fields{"block_id": blockID, "text": may(text("section.text")), "fields": may(list("section.fields", text("section.field"))),
			"accessory": may(family("accessory")), "expand": may(boolean)}, also: alsoList(atLeastOne("text", "fields"))},
		"context": {fields: fields{"block_id": blockID, "elements": must(list("context.elements", contextElement))}},
		"actions": {fields: fields{"block_id": blockID, "elements": must(list("actions.elements", family("pressable")))}},
		"input": {fields: fields{"block_id": blockID, "label": must(plain("input.label")), "element": must(family("fillable")),
			"hint": may(plain("input.hint")), "optional": may(boolean), "dispatch_action": may(boolean)}},
		"image": {fields: fields{"block_id": blockID, "alt_text": must(shown("image.alt_text")), "title": may(plain("image.title")),
			"image_url": may(hidden("url")), "slack_file": file}, also: alsoList(exactlyOne("image_url", "slack_file"))},
		"markdown":  {fields: fields{"block_id": blockID, "text": must(shown("markdown.text"))}},
		"rich_text": {fields: fields{"block_id": blockID, "elements": must(list("rich_text.elements", family("rich")))}},
		"table": {fields: fields{"block_id": blockID, "rows": must(rows("table")), "column_settings": may(list("table.column_settings", an(object{fields: fields{
			"align": may(oneOf("left", "center", "right")), "is_wrapped": may(boolean)}})))}, also: alsoList(sameLength)},
		"data_table": {fields: fields{"block_id": blockID, "caption": must(shown("data_table.caption")), "page_size": may(number("data_table.page_size")),
			"row_header_column_index": may(number("data_table.row_header_column_index")), "rows": must(rows("data_table"))}, also: alsoList(sameLength, headerRow)},
	}
	button := object{fields: fields{"action_id": action, "text": must(plain("button.text")), "value": may(hidden("button.value")), "url": may(webURL),
		"style": may(oneOf(Primary, Danger)), "confirm": confirm, "accessibility_label": may(shown("button.accessibility_label"))}}
	menu := object{fields: fields{"action_id": action, "placeholder": placeholder, "options": field{options.check, false},
		"option_groups":  may(list("select.option_groups", an(object{fields: fields{"label": must(plain("option.text")), "options": options}}))),
		"initial_option": may(option(plain("option.text"))), "confirm": confirm, "focus_on_load": focus},
		also: alsoList(exactlyOne("options", "option_groups"), distinctOptions, initialOption)}
	radio := object{fields: fields{"action_id": action, "options": choices, "initial_option": may(option(text("option.text"))), "confirm": confirm,
		"focus_on_load": focus}, also: alsoList(distinctOptions, initialOption)}
	boxes := object{fields: fields{"action_id": action, "options": choices, "initial_options": field{choices.check, false}, "confirm": confirm,
		"focus_on_load": focus}, also: alsoList(distinctOptions, initialOption)}
	overflow := object{fields: fields{"action_id": action, "options": must(list("overflow.options", option(plain("option.text")))), "confirm": confirm},
		also: alsoList(distinctOptions)}
	typed := fields{"action_id": action, "placeholder": placeholder, "initial_value": may(shown("initial_value")), "focus_on_load": focus}
	line := object{fields: fields{"action_id": action, "placeholder": placeholder, "initial_value": may(shown("initial_value")), "focus_on_load": focus,
		"multiline": may(boolean), "min_length": may(number("plain_text_input.length")), "max_length": may(number("plain_text_input.max_length"))},
		also: alsoList(lengthsFit)}
	s["pressable"] = map[string]object{"button": button, "static_select": menu, "radio_buttons": radio, "checkboxes": boxes, "overflow": overflow}
	s["accessory"] = map[string]object{"button": button, "static_select": menu, "radio_buttons": radio, "checkboxes": boxes, "overflow": overflow, "image": imageElement(file)}
	s["fillable"] = map[string]object{"static_select": menu, "radio_buttons": radio, "checkboxes": boxes, "plain_text_input": line,
		"url_text_input": {fields: typed}, "email_text_input": {fields: typed},
		"file_input": {fields: fields{"action_id": action, "filetypes": may(list("file_input.filetypes", hidden("block_id"))), "max_files": may(number("file_input.max_files"))}},
	}
	s["contextual"] = map[string]object{"image": imageElement(file)}
	s["rich"] = map[string]object{
		"rich_text_section": {fields: fields{"elements": inlines}},
		"rich_text_list": {fields: fields{"style": must(oneOf(Bullet, Ordered)), "elements": must(list("rich_text.part", family("item"))),
			"indent": may(number("rich_text.indent")), "offset": may(number("rich_text.offset")), "border": border}},
		"rich_text_preformatted": {fields: fields{"elements": must(list("rich_text.part", family("verbatim"))), "border": border}},
		"rich_text_quote":        {fields: fields{"elements": inlines, "border": border}},
	}
	s["item"] = map[string]object{"rich_text_section": {fields: fields{"elements": inlines}}}
	run := object{fields: fields{"text": must(shown("rich_text.text")), "style": style}}
	link := object{fields: fields{"url": must(webURL), "text": may(shown("rich_text.text")), "style": style}}
	s["verbatim"] = map[string]object{"text": run, "link": link}
	s["inline"] = map[string]object{"text": run, "link": link,
		"user":  {fields: fields{"user_id": must(userID), "style": style}},
		"emoji": {fields: fields{"name": must(hidden("rich_text.emoji"))}},
	}
	s["cell"] = map[string]object{
		"raw_text":   {fields: fields{"text": must(shown("cell.text"))}},
		"raw_number": {fields: fields{"value": must(anyNumber), "text": may(shown("cell.text"))}},
		"rich_text":  {fields: fields{"elements": must(list("rich_text.elements", family("rich")))}},
	}
	return s
}

func alsoList(fs ...func(*checker, string, map[string]any)) []func(*checker, string, map[string]any) {
	return fs
}

func imageElement(file field) object {
	return object{fields: fields{"alt_text": must(shown("image.alt_text")), "image_url": may(hidden("url")), "slack_file": file},
		also: alsoList(exactlyOne("image_url", "slack_file"))}
}

func option(text check) check {
	return an(object{fields: fields{"text": must(text), "value": must(hidden("option.value")), "description": may(plain("option.description"))}})
}

// onlyInMessages are blocks that a modal does not take; onlyInViews are elements that a message does not take.
var (
	onlyInMessages = map[string]bool{"table": true, "data_table": true, "markdown": true}
	onlyInViews    = map[string]bool{"file_input": true}
)

// messageArguments are what chat.postMessage, chat.update and chat.postEphemeral take besides text, blocks and metadata.
var messageArguments = []string{"channel", "ts", "thread_ts", "user", "reply_broadcast", "unfurl_links", "unfurl_media", "mrkdwn", "parse",
	"link_names", "icon_emoji", "icon_url", "username", "response_type", "replace_original", "delete_original"}
