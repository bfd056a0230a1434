// Package slack is a Slack look-alike on loopback: Web API, Socket Mode, response_url, modals, file upload and signed HTTP
// requests, with Slack's limits, errors and habits. It exists to test a bot against something that does not trust the bot,
// and to show the bot to people who have no workspace.
//
// Nothing here may know our own client. What the server holds to be true comes from Slack's documentation and from what
// official clients were seen to need; where Slack's behaviour is not documented, the comment says so.
//
// Three doors lead in: the Web API under /api/ for the bot, the driver (methods of Server, and the same as JSON under
// /sim/) for whoever plays the users, and the pages under /view/ for people with a browser.
//
// The driver over HTTP takes POSTs with a JSON body (fields of order in sim.go) at /sim/slash, say, click, view/click,
// view/submit, view/close, home, invite, kick, upload (a form), fault, heal, deafen, cut and disconnect; those that the
// app has to acknowledge answer with the acknowledgement. GET /sim/messages, views, channels, files, sockets, calls,
// journal and transcript read; /sim/wait waits for a text to appear; /sim/events tells of every change.
package slack
