// Package slack holds what this program knows of Slack against people who know it better and who never saw this program:
// Slack's own clients from npm run against simulate/slack, Slack's own types and the TypeScript compiler read every golden
// payload and the limits that the validator enforces, and a browser plays a newcomer at `bot demo --web`.
//
//	integration/slack/prepare.sh && go test -tags slackclients -v ./integration/slack
//
// Nothing in *.mjs may come from this module: what a test expects is written down in the test.
package slack
