// Package messages turns a report into what people see: the first screen, terminal text, Markdown, JSON, one
// self-contained HTML file and a rank map. It is pure: the same report gives the same bytes. Everything it shows has
// been through messages/redact first; text from a log is data here, never markup.
//
// The sentences are made once (view.go) and laid out by each format, so that a person who reads the thread and one who
// opens the file read the same words.
package messages
