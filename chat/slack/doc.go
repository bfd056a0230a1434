// Package slack is the transport to Slack: what people do comes in over Socket Mode or signed HTTP through one pipeline, what
// the bot says goes out from the outbox.
//
//	raw payload ─parse─► chat.Inbound + secrets ─► Vault (secrets) · Enqueue (one durable insert) ─► ack ─► wake
//	outbox row ─► validated message ─► Slack, at the pace that Slack allows
//
// Nothing is acknowledged before it is stored, so a crash loses nothing that Slack would deliver again, and the key of
// an Inbound makes every further delivery of the same act harmless.
//
// It is the only package that knows slack-go, and it uses little of it: the connection management of Socket Mode and the check of
// signatures. slack-go v0.34.0 decodes every block of a payload into types and refuses all of it when one block is not as
// expected, which would lose a click on a message, or take a post that Slack accepted for a failed one. So payloads and
// answers are read here into the few fields that are needed.
package slack
