// Package blockkit holds what Slack calls Block Kit: typed blocks that marshal to the JSON that Slack expects, a strict
// validator of such JSON, and Fit, which makes any message acceptable rather than have it refused. It knows nothing of
// reports and nothing of the network.
//
// Field names follow Slack's reference, checked against @slack/types 3.2.0 and slack-go v0.34.0. Only what the bot sends
// is typed; the validator (schema.go) knows a little more.
package blockkit
