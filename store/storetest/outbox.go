package storetest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"faultline/workflow"
)

// in puts a post into another channel.
func in(channel string, p workflow.Post) workflow.Post {
	p.Channel = channel
	return p
}

var outboxTests = []test{
	{"a post comes back whole, whatever is in it", func(b *bench) {
		p := workflow.Post{Investigation: "F-1", Kind: workflow.PostFiles, Key: "k", Channel: "C1", Thread: "t", ThreadTS: "1.2", User: "U1", Respond: "https://r.example/?a=b",
			Payload: []byte(hostile), Answer: true, Topic: hostile, Settles: true, Files: []workflow.Attachment{{Name: "ranks 100%.png", Title: "t", Alt: "rank 'x'", Blob: "abc", Bytes: 5}}}
		b.post(p)
		b.reopen()
		got := b.find(hostile)
		p.ID, p.State, p.Added = got.ID, workflow.PostQueued, b.time()
		if !reflect.DeepEqual(got, p) {
			b.Fatalf("got %+v, want %+v", got, p)
		}
		b.sending(hostile)
		b.check(b.Requeue(b.ctx, p.ID, 0, hostile, true))
		same(b, "reason", b.find(hostile).LastError, hostile)
	}},
	{"what a caller sets in vain", func(b *bench) {
		p := message("a")
		p.ID, p.State, p.TS, p.Marked, p.Attempts = 77, workflow.PostSent, "x", true, 5
		b.post(p)
		list(b, "due", b.due(), "a")
		got := b.find("a")
		same(b, "fresh", fmt.Sprint(got.State, got.TS, got.Marked, got.Attempts), fmt.Sprint("queued", "", false, 0))
	}},
	{"each channel has its own order", func(b *bench) {
		b.post(message("a1"), in("C2", message("b1")), message("a2"), in("C2", message("b2")))
		list(b, "due", b.due(), "a1", "b1")
		b.sending("a1")
		list(b, "while a1 is on its way", b.due(), "b1")
		b.check(b.Sent(b.ctx, b.find("a1").ID, "1", ""))
		list(b, "after a1", b.due(), "b1", "a2")
		b.send("b1")
		b.send("a2")
		list(b, "last", b.due(), "b2")
		b.send("b2")
		list(b, "nothing", b.due())
	}},
	{"a post that is put back holds its channel, not the others", func(b *bench) {
		b.post(message("a1"), message("a2"), in("C2", message("b1")))
		b.sending("a1")
		b.check(b.Requeue(b.ctx, b.find("a1").ID, time.Minute, "ratelimited", false))
		list(b, "due", b.due(), "b1")
		got := b.find("a1")
		same(b, "why", fmt.Sprint(got.State, got.Attempts, got.LastError, got.Marked), fmt.Sprint("queued", 1, "ratelimited", false))
		b.pass(time.Minute - time.Microsecond)
		list(b, "due", b.due(), "b1")
		b.pass(time.Microsecond)
		list(b, "due", b.due(), "a1", "b1")
		b.check(b.Requeue(b.ctx, got.ID, 0, "no answer", true)) // not even begun
		b.sending("a1")
		b.check(b.Requeue(b.ctx, got.ID, 0, "ratelimited", false))
		got = b.find("a1")
		same(b, "once marked, always marked", got.Marked, true)
		same(b, "attempts", got.Attempts, 3)
	}},
	{"a post that is given up lets the channel go on", func(b *bench) {
		b.post(message("a1"), message("a2"), message("a3"))
		b.sending("a1")
		b.check(b.Undeliverable(b.ctx, b.find("a1").ID, "channel_not_found"))
		b.check(b.Undeliverable(b.ctx, b.find("a2").ID, "too"))
		list(b, "due", b.due(), "a3")
		got := b.find("a1")
		same(b, "why", got.State+" "+got.LastError, "undeliverable channel_not_found")
	}},
	{"only one sends a post", func(b *bench) {
		b.post(message("a"))
		id := b.find("a").ID
		b.fails(workflow.ErrLost, b.Sent(b.ctx, id, "1", ""))
		b.sending("a")
		b.fails(workflow.ErrLost, b.Sending(b.ctx, id))
		b.check(b.Sent(b.ctx, id, "1", ""))
		for _, err := range []error{b.Sent(b.ctx, id, "2", ""), b.Sending(b.ctx, id), b.Requeue(b.ctx, id, 0, "", true), b.Undeliverable(b.ctx, id, ""), b.Sending(b.ctx, id+100)} {
			b.fails(workflow.ErrLost, err)
		}
		got := b.find("a")
		same(b, "untouched", fmt.Sprint(got.State, got.TS, got.Marked, got.LastError), fmt.Sprint("sent", "1", false, ""))
	}},
	{"edits wait for their message, not for the channel", func(b *bench) {
		b.post(message("case"), edit("case", "edit1"), message("verdict"))
		list(b, "due", b.due(), "case")
		b.sending("case")
		list(b, "due", b.due())
		b.check(b.Sent(b.ctx, b.find("case").ID, "1.1", ""))
		list(b, "due", b.due(), "edit1", "verdict")
		b.send("edit1")
		list(b, "due", b.due(), "verdict")
		b.sending("verdict")
		b.post(edit("case", "edit2"))
		list(b, "an edit passes a message that is on its way", b.due(), "edit2")
	}},
	{"of several edits only the newest is sent", func(b *bench) {
		b.post(message("case"), message("other"), edit("case", "e1"), edit("other", "o1"), edit("case", "e2"))
		b.send("case")
		list(b, "due", b.due(), "other", "e2")
		same(b, "older", b.find("e1").State, workflow.PostCoalesced)
		b.fails(workflow.ErrLost, b.Sending(b.ctx, b.find("e1").ID))
		b.sending("e2")
		b.post(edit("case", "e3"))
		list(b, "one at a time", b.due(), "other")
		b.check(b.Requeue(b.ctx, b.find("e2").ID, time.Minute, "ratelimited", false))
		list(b, "due", b.due(), "other", "e3")
		same(b, "put back", b.find("e2").State, workflow.PostCoalesced)
		b.sending("e3")
		b.post(edit("case", "e4"))
		b.sending("e4") // by a sender that did not ask what is due
		b.check(b.Sent(b.ctx, b.find("e4").ID, "4", ""))
		b.check(b.Requeue(b.ctx, b.find("e3").ID, 0, "no answer", true))
		list(b, "an older edit never follows a newer one", b.due(), "other")
		same(b, "put back", b.find("e3").State, workflow.PostCoalesced)
		b.send("other")
		list(b, "due", b.due(), "o1")
	}},
	{"edits of one investigation leave those of another alone", func(b *bench) {
		other, change := message("case"), edit("case", "f2")
		other.Investigation, change.Investigation = "F-2", "F-2"
		other.Payload = []byte("case2")
		b.post(message("case"), in("C2", other), edit("case", "f1"), in("C2", change))
		b.send("case")
		b.send("case2")
		list(b, "due", b.due(), "f1", "f2")
	}},
	{"edits and removals of what was given up are given up", func(b *bench) {
		b.post(message("case"), edit("case", "e1"), edit("nothing", "e2"), workflow.Post{Investigation: "F-1", Kind: workflow.PostRemove, Key: "case", Channel: "C1", Payload: []byte("r")})
		b.check(b.Undeliverable(b.ctx, b.find("case").ID, "x"))
		list(b, "due", b.due())
		for _, p := range []string{"e1", "e2", "r"} {
			same(b, p, b.find(p).State, workflow.PostUndeliverable)
		}
		n, _, err := b.Backlog(b.ctx)
		b.check(err)
		same(b, "backlog", n, 0)
	}},
	{"a removal keeps the order of the channel", func(b *bench) {
		b.post(message("a"), workflow.Post{Investigation: "F-1", Kind: workflow.PostRemove, Key: "a", Channel: "C1", Payload: []byte("remove a")}, message("b"))
		list(b, "due", b.due(), "a")
		b.send("a")
		list(b, "due", b.due(), "remove a")
		b.send("remove a")
		list(b, "due", b.due(), "b")
	}},
	{"an ephemeral answer waits for nobody and nobody for it", func(b *bench) {
		b.post(message("a"), workflow.Post{Kind: workflow.PostEphemeral, Channel: "C1", User: "U1", Payload: []byte("e1")},
			workflow.Post{Kind: workflow.PostEphemeral, Channel: "C1", User: "U1", Payload: []byte("e2")}, message("b"))
		list(b, "due", b.due(), "a", "e1", "e2")
		b.sending("e1")
		list(b, "due", b.due(), "a", "e2")
		b.send("a")
		list(b, "due", b.due(), "e2", "b")
	}},
	{"a post with a link waits for the message that it links to", func(b *bench) {
		b.post(workflow.Post{Investigation: "F-1", Kind: workflow.PostEphemeral, Channel: "C1", LinkTo: "case", Payload: []byte("answer")},
			in("D1", workflow.Post{Investigation: "F-1", Kind: workflow.PostMessage, Key: "dm", LinkTo: "case", Payload: []byte("dm")}), message("case"))
		list(b, "due", b.due(), "case")
		b.sending("case")
		list(b, "due", b.due())
		b.check(b.Sent(b.ctx, b.find("case").ID, "9.9", "https://chat.example/case"))
		list(b, "due", b.due(), "answer", "dm")
		got, err := b.Posted(b.ctx, "F-1", "case")
		b.check(err)
		same(b, "link", got.Link, "https://chat.example/case")
	}},
	{"a link to what was given up, or never was, does not wait for ever", func(b *bench) {
		b.post(message("case"), in("C2", workflow.Post{Investigation: "F-1", Kind: workflow.PostMessage, LinkTo: "case", Payload: []byte("a")}),
			in("C3", workflow.Post{Investigation: "F-1", Kind: workflow.PostMessage, LinkTo: "no such", Payload: []byte("b")}),
			in("C4", workflow.Post{Investigation: "F-1", Kind: workflow.PostMessage, Key: "self", LinkTo: "self", Payload: []byte("c")}),
			in("C5", workflow.Post{Investigation: "F-1", Kind: workflow.PostMessage, LinkTo: "behind", Payload: []byte("d")}), in("C5", message("behind")))
		list(b, "due", b.due(), "case", "b", "c", "d")
		b.check(b.Undeliverable(b.ctx, b.find("case").ID, "x"))
		list(b, "due", b.due(), "a", "b", "c", "d")
	}},
	{"an edit may link to a message that is posted after it", func(b *bench) {
		b.post(message("case"))
		b.send("case")
		e := edit("case", "see the verdict")
		e.LinkTo = "verdict"
		b.post(e, message("verdict"))
		list(b, "due", b.due(), "verdict")
		b.send("verdict")
		list(b, "due", b.due(), "see the verdict")
	}},
	{"a thread comes after its head", func(b *bench) {
		reply, files := message("reply"), message("files")
		reply.Thread, files.Thread, files.Kind = "case", "case", workflow.PostFiles
		b.post(message("case"), reply, files, workflow.Post{Investigation: "F-1", Kind: workflow.PostEphemeral, Channel: "C1", Thread: "case", Payload: []byte("only you")})
		list(b, "due", b.due(), "case")
		b.send("case")
		list(b, "due", b.due(), "reply", "only you")
		b.send("only you")
		b.send("reply")
		list(b, "due", b.due(), "files")
	}},
	{"what was being sent when the process died is asked about once", func(b *bench) {
		b.post(message("a"), message("b"), in("C2", message("c")))
		b.sending("a")
		b.sending("c")
		b.reopen()
		list(b, "due", b.due())
		posts, err := b.Unsettled(b.ctx)
		b.check(err)
		list(b, "unsettled", payloads(posts), "a", "c")
		b.check(b.Requeue(b.ctx, posts[0].ID, 0, "the bot was restarted", true))
		b.check(b.Sent(b.ctx, posts[1].ID, "1.1", "")) // found in the channel
		posts, err = b.Unsettled(b.ctx)
		b.check(err)
		same(b, "unsettled", len(posts), 0)
		list(b, "due", b.due(), "a")
		same(b, "marked", b.find("a").Marked, true)
	}},
	{"a message is found by its key, an edit never", func(b *bench) {
		b.post(message("case"), edit("case", "e"))
		_, err := b.Posted(b.ctx, "F-1", "case")
		b.fails(workflow.ErrUnknown, err)
		b.send("case")
		b.send("e")
		files := message("case")
		files.Kind, files.Payload = workflow.PostFiles, []byte("files")
		b.post(files)
		got, err := b.Posted(b.ctx, "F-1", "case")
		b.check(err)
		same(b, "ts", got.TS+" "+got.Link+" "+got.State, "ts-case https://chat.example/case sent")
		b.send("files")
		got, err = b.Posted(b.ctx, "F-1", "case")
		b.check(err)
		same(b, "the newest", got.TS, "ts-files")
		_, err = b.Posted(b.ctx, "F-2", "case")
		b.fails(workflow.ErrUnknown, err)
		posts, err := b.Posts(b.ctx, "F-1")
		b.check(err)
		list(b, "all", payloads(posts), "case", "e", "files")
	}},
	{"the backlog tells how long somebody has been waiting", func(b *bench) {
		n, oldest, err := b.Backlog(b.ctx)
		b.check(err)
		same(b, "nothing", fmt.Sprint(n, oldest.IsZero()), "0 true")
		began := b.time()
		b.post(message("a"))
		b.pass(time.Minute)
		b.post(message("b"))
		n, oldest, err = b.Backlog(b.ctx)
		b.check(err)
		same(b, "two", n, 2)
		same(b, "since", oldest, began)
		b.send("a")
		n, oldest, err = b.Backlog(b.ctx)
		b.check(err)
		same(b, "one", n, 1)
		same(b, "since", oldest, began.Add(time.Minute))
	}},
	{"nobody hears more of one investigation in an hour than the bound, unless they asked", func(b *bench) {
		b.post(message("case"))
		b.send("case")
		for i := range 9 {
			b.post(in(fmt.Sprint("C", i%2), message(fmt.Sprint("m", i))))
		}
		for range 9 { // whoever does not ask what is due is refused too
			for i := range 9 {
				_ = b.Sending(b.ctx, b.find(fmt.Sprint("m", i)).ID)
			}
		}
		list(b, "due", b.due())
		held := 0
		posts, err := b.Posts(b.ctx, "F-1")
		b.check(err)
		for _, p := range posts {
			if p.State == workflow.PostQueued {
				held++
			}
		}
		same(b, "held", held, 10-workflow.UnaskedMost)
		n, _, err := b.Backlog(b.ctx)
		b.check(err)
		same(b, "backlog", n, 0)
	}},
	{"what is held leaves when the hour is over, and holds nobody else up", func(b *bench) {
		b.post(message("case"))
		b.send("case")
		answer, other := message("answer"), message("other")
		answer.Answer, other.Investigation = true, "F-2"
		for i := range workflow.UnaskedMost {
			b.post(message(fmt.Sprint("m", i)))
		}
		for i := range workflow.UnaskedMost - 1 {
			list(b, "due", b.due(), fmt.Sprint("m", i))
			b.send(fmt.Sprint("m", i))
			b.pass(time.Minute)
		}
		list(b, "due", b.due())
		under := message("under m5")
		under.Thread, under.Answer = "m5", true
		b.post(under, answer, edit("case", "now"), other)
		list(b, "due", b.due(), "answer", "now")
		b.send("answer")
		list(b, "due", b.due(), "now", "other")
		b.send("other")
		b.reopen()
		b.pass(workflow.UnaskedPer - 5*time.Minute)
		list(b, "due", b.due(), "m5", "now")
		b.send("m5")
		list(b, "due", b.due(), "under m5", "now")
	}},
	{"the case file always has a place", func(b *bench) {
		for i := range workflow.UnaskedMost - 1 {
			b.post(in("D1", message(fmt.Sprint("m", i))))
			b.send(fmt.Sprint("m", i))
		}
		b.post(in("D1", message("one more")), message("case"))
		list(b, "due", b.due(), "case")
		b.send("case")
		list(b, "due", b.due())
	}},
	{"of what is held, the newest of a topic is said, and nothing that nobody needs", func(b *bench) {
		b.post(message("case"))
		b.send("case")
		for i := range workflow.UnaskedMost - 1 {
			b.post(message(fmt.Sprint("m", i)))
			b.send(fmt.Sprint("m", i))
		}
		about := func(topic, key string) workflow.Post {
			p := message(key)
			p.Topic = topic
			return p
		}
		answer := about("verdict", "answer")
		answer.Answer = true
		settled := edit("question-1", "settled")
		settled.Settles = true
		b.post(about("verdict", "verdict-1"), about("", "question-1"), about("", "question-2"), about("note", "note-1"), edit("question-2", "in other words"), settled,
			about("verdict", "verdict-2"), answer)
		list(b, "due", b.due(), "answer")
		b.send("answer")
		b.pass(workflow.UnaskedPer + time.Second)
		for _, want := range []string{"question-2", "note-1", "verdict-2"} {
			same(b, want+" is due", slices.Contains(b.due(), want), true)
			b.send(want)
		}
		same(b, "verdict-1", b.find("verdict-1").State, workflow.PostCoalesced)
		same(b, "question-1", b.find("question-1").State, workflow.PostCoalesced)
		list(b, "due", b.due(), "in other words")
		same(b, "settled", b.find("settled").State, workflow.PostUndeliverable)
	}},
	{"no more than asked for is listed", func(b *bench) {
		for i := range 5 {
			b.post(in(fmt.Sprint("C", i), message(fmt.Sprint("m", i))))
		}
		posts, err := b.Due(b.ctx, 3)
		b.check(err)
		list(b, "due", payloads(posts), "m0", "m1", "m2")
	}},
}
