package blockkit

import "strings"

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Escape makes text inert where Slack reads mrkdwn (a message's text, Mrkdwn): no mention, no channel-wide call, no link.
// These three are all that Slack lets one escape; * _ ~ and ` may still change the look, nothing else.
func Escape(s string) string { return escaper.Replace(s) }
