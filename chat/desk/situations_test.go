package desk

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/chat"
	"faultline/config"
	"faultline/incident"
	"faultline/messages"
	"faultline/workflow"
)

const hook = "https://hooks.example/r"

func command(channel, text string) chat.Inbound {
	return chat.Inbound{Kind: chat.Command, Channel: channel, Text: text, Trigger: "t", Respond: hook}
}

func press(user, action, value string) chat.Inbound {
	return chat.Inbound{Kind: chat.Click, Channel: "C1", User: user, Action: action, Value: value, Trigger: "t", Respond: hook}
}

func submission(user, callback, private string, fields map[string]string, files ...chat.File) chat.Inbound {
	return chat.Inbound{Kind: chat.Submit, User: user, View: &chat.View{ID: "V", Callback: callback, Private: private, Fields: fields, Files: files}}
}

func by(user string, in chat.Inbound) chat.Inbound {
	in.User = user
	return in
}

// words are what a situation says around what is filled in.
func words(s situation) []string {
	return regexp.MustCompile(`%(?:\[[0-9]\])?[sd]`).Split(strings.NewReplacer("&", "&amp;").Replace(texts[s]), -1)
}

// unusedBeyond are clusters that tell which number they give to the next job.
func unusedBeyond(next int, clusters ...string) func(s *stage) {
	return func(s *stage) {
		s.desk.Unused = func(_ context.Context, cluster, job string) (int, bool) {
			n, err := strconv.Atoi(job)
			return next, err == nil && n >= next && slices.Contains(clusters, cluster)
		}
	}
}

// Every distinct thing that people run into is answered in words of its own, exactly once.
func TestEverySituationIsAnswered(t *testing.T) {
	reported := func(s *stage) { s.says("12345"); s.at("F-1", workflow.Reported) }
	called := func(s *stage) {
		s.desk.Flow.Facts = func(context.Context, string, string) (workflow.Found, error) {
			return workflow.Found{Name: "train-7b", Users: []string{"ana"}}, nil
		}
		reported(s)
	}
	unknown := func(s *stage) { s.says("west:777"); s.at("F-1", workflow.AwaitingLogs) }
	running := func(s *stage) {
		s.fetch.quiet["west/12345"] = s.now.Add(-time.Minute)
		s.says("12345")
		s.at("F-1", workflow.AwaitingEnd)
	}
	storage := func(s *stage) {
		s.desk.Flow.AskStorage = true
		s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
			r := report("dataloader-stall", incident.Probable)
			r.Storage.Signs = lateData
			return r, nil
		}
		s.says("12345")
		s.at("F-1", workflow.AwaitingAIS)
	}
	for _, c := range []struct {
		name    string
		arrange func(s *stage)
		in      chat.Inbound
		want    situation
		holds   []string       // further words
		state   workflow.State // of F-1, "" for none
	}{
		{"a job", nil, command("C1", "12345"), started, []string{"job 12345 as F-1", workflow.LinkPlaceholder}, workflow.Reported},
		{"a job, privately", nil, command("C1", "12345 private"), startedPrivate, nil, workflow.Reported},
		{"a job where the bot is not, privately", nil, command("C3", "12345 private"), startedPrivate, nil, workflow.Reported},
		{"malformed", nil, command("C1", "12a45"), malformed, []string{"`12a45`", "12345_7"}, ""},
		{"malformed with a job", nil, command("C1", "12345 quickly"), malformed, []string{"`quickly`"}, ""},
		{"unknown job, one cluster", nil, command("C2", "777"), started, nil, workflow.AwaitingLogs},
		{"unknown job, several clusters", nil, command("C1", "777"), started, []string{"known on west, east"}, workflow.AwaitingLogs},
		{"a number that no cluster has used", unusedBeyond(4243, "west", "east"), command("C1", "999999"), unusedJob,
			[]string{"4243 on west, 4243 on east", "`/diagnose 999999 logs:/path`", "upload them"}, ""},
		{"a number that the named cluster has not used", unusedBeyond(4243, "west"), command("C1", "west:999999"), unusedJob, []string{"4243 on west", "`/diagnose east:999999`"}, ""},
		{"a number that one cluster has not used, and another may have", unusedBeyond(4243, "west"), command("C1", "999999"), started, []string{"known on west, east"}, workflow.AwaitingLogs},
		{"a number that was used, or may have been", unusedBeyond(4243, "west"), command("C2", "777"), started, nil, workflow.AwaitingLogs},
		{"an unused number, with logs", unusedBeyond(4243, "west", "east"), command("C1", "999999 logs:/etc"), forbiddenPath, nil, ""},
		{"an unused number, and a case all the same", unusedBeyond(4243, "west"), press("U1", actOpen, "west:999999"), started, nil, workflow.AwaitingLogs},
		{"an unused number whose case is open already", func(s *stage) {
			s.says("west:999999")
			unusedBeyond(4243, "west")(s)
		}, by("U3", command("C1", "west:999999")), alreadyOpen, []string{"F-1"}, workflow.AwaitingLogs},
		{"cluster that does not exist", nil, command("C1", "south:12345"), unknownCluster, []string{"south", "west, east"}, ""},
		{"cluster of other channels, in the same words", nil, command("C1", "north:12345"), unknownCluster, []string{"north", "west, east"}, ""},
		{"several clusters know it", func(s *stage) { s.fetch.where["east/12345"] = []string{"/logs/east/12345"} }, command("C1", "12345"), severalClusters, []string{"west, east"}, ""},
		{"one of several is chosen", func(s *stage) { s.fetch.where["east/12345"] = []string{"/logs/west/12345"} }, press("U1", actCluster+"/east", "east:12345"), started, nil, workflow.Reported},
		{"the bot is not in the channel", nil, command("C3", "12345"), notInChannel, []string{"`/invite @faultline`"}, ""},
		{"archived", nil, command("C4", "12345"), archived, nil, ""},
		{"people of others read along", nil, command("C5", "12345"), sharedChannel, nil, ""},
		{"read-only", nil, command("C6", "12345"), readOnly, nil, ""},
		{"no cluster", nil, command("C7", "12345"), unboundChannel, nil, ""},
		{"direct messages are off", nil, command("DU1", "12345"), directOff, nil, ""},
		{"external", nil, chat.Inbound{Kind: chat.Command, Channel: "C1", Text: "12345", External: true, Respond: hook}, external, nil, ""},
		{"a token was typed", nil, chat.Inbound{Kind: chat.Command, Channel: "C1", Text: "", Warned: true, Trigger: "t", Respond: hook}, secretTyped, []string{"Rotate"}, ""},
		{"a second question for the same run", reported, by("U3", command("C1", "west:12345")), alreadyOpen, []string{"F-1", "<@U1>", workflow.LinkPlaceholder}, workflow.Reported},
		{"a path outside", nil, command("C1", "12345 logs:/etc"), forbiddenPath, []string{"`/etc`"}, ""},
		{"a path that does not exist, in the same words", nil, command("C1", "12345 logs:/nowhere/x"), forbiddenPath, []string{"`/nowhere/x`"}, ""},
		{"a path where none is allowed", nil, command("C8", "12345 logs:/etc"), forbiddenPath, nil, ""},
		{"ping", nil, command("C1", "ping"), pong, nil, ""},
		{"help", nil, command("C1", "help"), helpHead, []string{"`/diagnose 12345`", "@faultline"}, ""},
		{"explain what?", nil, command("C1", "explain"), explainWhat, nil, ""},
		{"explain a line", nil, command("C1", "explain `OSError: [Errno 28] No space left on device`"), explainFoot, []string{"`storage-full`", "The file system is full", "you (job configuration)", "df -h"}, ""},
		{"explain a number", nil, command("C1", "explain exit code 137"), explainFoot, []string{"SIGKILL", "The code alone doesn't tell which"}, ""},
		{"explain a secret's neighbour", nil, command("C1", "explain \"password=hunter2hunter2\" and exit code 1"), explainFoot, []string{"exit code 1"}, ""},
		{"explain what nobody knows", nil, command("C1", "explain stragler"), explainNothing, []string{"straggler"}, ""},
		{"list of nothing", nil, command("C1", "list"), nothingHere, nil, ""},
		{"status of nothing", nil, command("C1", "status"), statusNone, nil, ""},
		{"status of an unknown one", nil, command("C1", "status F-9"), noSuchCase, []string{"F-9"}, ""},
		{"status of one elsewhere, in the same words", reported, by("U3", command("C2", "status F-1")), noSuchCase, []string{"F-1"}, workflow.Reported},
		{"status of an unknown job", nil, command("C1", "status 777"), noJobKnown, []string{"777"}, ""},
		{"cancel what?", nil, command("C1", "cancel"), whichOne, nil, ""},
		{"cancel", unknown, command("C1", "cancel F-1"), cancelled, nil, workflow.Cancelled},
		{"cancel by job", unknown, command("C1", "cancel 777"), cancelled, nil, workflow.Cancelled},
		{"cancel by a trusted one", unknown, by("U2", command("C1", "cancel F-1")), cancelled, nil, workflow.Cancelled},
		{"cancel by anybody", unknown, by("U3", command("C1", "cancel F-1")), notYours, []string{"<@U1>"}, workflow.AwaitingLogs},
		{"cancel what is done", reported, command("C1", "cancel F-1"), cannotCancel, nil, workflow.Reported},
		{"rerun", reported, command("C1", "rerun F-1"), rerunStarted, []string{"F-1 is closed, and F-2"}, workflow.Closed},
		{"rerun of somebody's that waits", unknown, by("U3", command("C1", "rerun F-1")), notYours, nil, workflow.AwaitingLogs},
		{"mute", unknown, command("C1", "mute F-1"), muted, nil, workflow.AwaitingLogs},
		{"mute twice", func(s *stage) { unknown(s); s.says("mute F-1") }, command("C1", "mute F-1"), mutedBefore, nil, workflow.AwaitingLogs},
		{"I've got it", reported, command("C1", "own F-1"), owned, nil, workflow.Reported},
		{"I've got it, said by somebody else", reported, by("U3", command("C1", "own F-1")), owned, nil, workflow.Reported},
		{"I've got it, taken over from another", func(s *stage) { reported(s); s.says("own F-1") }, by("U3", command("C1", "own F-1")), owned, nil, workflow.Reported},
		{"I've got it, twice", func(s *stage) { reported(s); s.says("own F-1") }, command("C1", "own F-1"), ownedBefore, []string{"<@U1>"}, workflow.Reported},
		{"I've got it, pressed while logs lack", unknown, press("U3", actOwn, "F-1"), owned, nil, workflow.AwaitingLogs},
		{"dispute in words", reported, command("C1", "dispute F-1 it was the disk"), disputed, nil, workflow.Disputed},
		{"dispute without words", reported, command("C1", "dispute F-1"), pressInstead, nil, workflow.Reported},
		{"close", reported, command("C1", "close F-1"), pressInstead, nil, workflow.Reported},
		{"what helps", reported, command("C1", "fixes F-1"), fixesHead, []string{"Risk:", "Check:"}, workflow.Reported},
		{"what helps, while nothing is known", unknown, command("C1", "fixes F-1"), fixesNone, []string{"F-1"}, workflow.AwaitingLogs},
		{"fixed, by no run", reported, command("C1", "fixed F-1"), fixWhich, nil, workflow.Reported},
		{"fixed, by the next run", called, command("C1", "fixed F-1 halved the batch"), fixAwaited, []string{"train-7b"}, workflow.Fixing},
		{"fixed, by a job of a cluster of other channels", reported, command("C1", "fixed F-1 north:12399"), unknownCluster, []string{"north", "west, east"}, workflow.Reported},
		{"fixed, by the run that failed", reported, command("C1", "fixed F-1 12345"), fixItself, nil, workflow.Reported},
		{"fixed", reported, command("C1", "fixed F-1 12399 halved the batch"), fixNoted, []string{"F-2"}, workflow.VerifyingFix},
		{"fixed, said again", func(s *stage) { reported(s); s.says("fixed F-1 12399") }, command("C1", "fixed F-1 12399"), fixNoted, []string{"F-2"}, workflow.VerifyingFix},
		{"fixed, by a job of another channel", func(s *stage) {
			reported(s)
			s.does(command("C2", "12399"))
		}, command("C1", "fixed F-1 12399"), fixElsewhere, nil, workflow.Reported},
		{"fixed, without a report", unknown, command("C1", "fixed F-1 12399"), postmortemNone, nil, workflow.AwaitingLogs},
		{"isolate, without a report", unknown, command("C1", "isolate F-1"), postmortemNone, nil, workflow.AwaitingLogs},
		{"isolate, among one node", reported, command("C1", "isolate F-1"), isolateNone, []string{"at least two nodes"}, workflow.Reported},
		{"isolate", func(s *stage) { wide(s); reported(s) }, command("C1", "isolate F-1"), isolateBegun, []string{"F-1"}, workflow.Isolating},
		{"isolate, asked again", isolating, command("C1", "isolate F-1"), isolateAgain, []string{"F-1"}, workflow.Isolating},
		{"an outcome without a search", reported, command("C1", "isolate F-1 1a=fail"), isolateNoSearch, nil, workflow.Reported},
		{"an outcome of no test", isolating, command("C1", "isolate F-1 9a=fail"), isolateNoTest, []string{"9a"}, workflow.Isolating},
		{"an outcome that is none", isolating, command("C1", "isolate F-1 1a=perhaps"), isolateOutcome, nil, workflow.Isolating},
		{"an outcome by a job that nobody knows", isolating, command("C1", "isolate F-1 1a=99"), isolateJobOpen, []string{"99"}, workflow.Isolating},
		{"an outcome by a job", isolating, command("C1", "isolate F-1 1a=77"), isolateNoted, []string{"1a failed"}, workflow.Isolating},
		{"an outcome by a button", isolating, press("U3", actTested+"/1a-fail", "F-1 0 1a=fail"), isolateNoted, []string{"1a failed"}, workflow.Isolating},
		{"the work", reported, command("C1", "work F-1"), workShown, []string{"F-1"}, workflow.Reported},
		{"the work, without a report", unknown, command("C1", "work F-1"), postmortemNone, nil, workflow.AwaitingLogs},
		{"an item that is none", reported, command("C1", "work F-1 q7"), workWhat, nil, workflow.Reported},
		{"a cause that is not there", reported, command("C1", "work F-1 h7 supports"), workNone, []string{"h7"}, workflow.Reported},
		{"a task", reported, command("C1", "work F-1 add write an alert"), workTask, []string{"Write an alert"}, workflow.Reported},
		{"a task on a day that is none", reported, command("C1", "work F-1 add x 2026-13-01"), workDay, []string{"2026-13-01"}, workflow.Reported},
		{"a post-mortem", reported, command("C1", "postmortem F-1"), postmortemMade, nil, workflow.Reported},
		{"a post-mortem of nothing", unknown, command("C1", "postmortem F-1"), postmortemNone, nil, workflow.AwaitingLogs},
		{"a mention outside of a case", nil, chat.Inbound{Kind: chat.Mention, Channel: "C1", Thread: "1.2", Text: "<@UB> status"}, statusNone, nil, ""},
		{"logs outside of a case", nil, chat.Inbound{Kind: chat.Mention, Channel: "C1", Thread: "1.2", Text: "<@UB> logs /x"}, notACase, nil, ""},
		{"files beside a mention", func(s *stage) { unknown(s); s.posted() }, withFiles(mention("U3", "this is the dmesg"), chat.File{ID: "A", Name: "a.out", Bytes: 3}), uploaded, []string{"1 file"}, workflow.Reported},
		{"too many files beside a mention", func(s *stage) { unknown(s); s.posted() }, withFiles(mention("U3", ""), make([]chat.File, 4)...), uploadTooMany, nil, workflow.AwaitingLogs},
		{"files beside a mention outside of a case", nil, withFiles(mention("U3", "status"), chat.File{ID: "A", Name: "a.out", Bytes: 3}), filesNowhere, nil, ""},
		{"files beside a mention in no thread", reported, withFiles(chat.Inbound{Kind: chat.Mention, Channel: "C1", User: "U3", Text: "<@UB> 12345"}, chat.File{ID: "A"}), filesNowhere, nil, workflow.Reported},
		{"a mention alone", nil, chat.Inbound{Kind: chat.Mention, Channel: "C1", Text: "<@UB>"}, helpHead, nil, ""},
		{"the window came too late", func(s *stage) { s.surface.late = true }, command("C1", ""), tooSlow, nil, ""},

		{"look now", running, press("U3", actLookNow, "F-1 1"), looksNow, nil, workflow.Reported},
		{"when it ends", running, press("U3", actWhenEnds, "F-1 1"), waitsForEnd, nil, workflow.AwaitingEnd},
		{"look now after all", func(s *stage) { running(s); s.does(press("U3", actWhenEnds, "F-1 1")) }, press("U3", actLookNow, "F-1"), looksNow, nil, workflow.Reported},
		{"look now, too late", func(s *stage) { running(s); s.does(press("U3", actLookNow, "F-1 1")) }, press("U2", actLookNow, "F-1 1"), staleClick, []string{"at 05:06"}, workflow.Reported},
		{"a click on what nobody answered", reported, press("U1", actLookNow, "F-1 7"), staleQuestion, nil, workflow.Reported},
		{"a button of another version", reported, press("U1", "frobnicate", "F-1"), unknownButton, nil, workflow.Reported},
		{"a case that is gone", nil, press("U1", actClose, "F-9"), noSuchCase, nil, ""},
		{"a button from elsewhere", reported, chat.Inbound{Kind: chat.Click, Channel: "C2", User: "U3", Action: actClose, Value: "F-1", Trigger: "t"}, noSuchCase, nil, workflow.Reported},
		{"close by anybody", reported, press("U3", actClose, "F-1"), notYours, nil, workflow.Reported},
		{"glossary without report", unknown, press("U1", actGlossary, "F-1"), noReport, nil, workflow.AwaitingLogs},
		{"share what is public", reported, press("U1", actShare, "F-1"), notPrivate, nil, workflow.Reported},
		{"dispute of an old verdict", reported, press("U1", actDispute, "F-1 9"), oldVerdict, nil, workflow.Reported},
		{"dispute of nothing", unknown, press("U1", actDispute, "F-1"), wrongState, nil, workflow.AwaitingLogs},
		{"not available", func(s *stage) { s.overturns(); reported(s) }, press("U3", actLeave, "F-1 1"), left, nil, workflow.Reported},
		{"not available, and something else decides", func(s *stage) { s.hangs(); reported(s) }, press("U3", actLeave, "F-1 1"), leftNext, nil, workflow.Reported},
		{"not available, twice", func(s *stage) { s.overturns(); reported(s); s.does(press("U3", actLeave, "F-1 1")) }, press("U3", actLeave, "F-1 1"), staleQuestion, nil, workflow.Reported},
		{"a window of a case that is forgotten", nil, submission("U1", messages.ViewClose, "F-9 0 close", nil), noSuchCase, []string{"F-9"}, ""},
		{"retry", func(s *stage) { unknown(s); s.says("cancel F-1") }, press("U1", actRetry, "F-1"), retried, nil, workflow.AwaitingLogs},
		{"uphold", func(s *stage) { reported(s); s.says("dispute F-1 no") }, press("U1", actUphold, "F-1"), disputeUpheld, nil, workflow.Reported},

		{"storage, by nobody asked for", reported, press("U1", actStorage, "F-1"), storageOffered, []string{"ais log get cluster"}, workflow.Reported},
		{"storage in words", reported, command("C1", "storage F-1"), storageOffered, nil, workflow.Reported},
		{"storage by anybody", reported, by("U3", command("C1", "storage F-1")), notYours, nil, workflow.Reported},
		{"storage while it is asked for", storage, command("C1", "storage F-1"), storageOffered, nil, workflow.AwaitingAIS},
		{"storage of nothing", unknown, command("C1", "storage F-1"), wrongState, nil, workflow.AwaitingLogs},
		{"access to nothing", unknown, press("U1", actAccess, "F-1"), wrongState, nil, workflow.AwaitingLogs},
		{"a token that nobody asked for", func(s *stage) { reported(s); s.desk.Storage = &access{} }, withToken(submission("U1", messages.ViewAIS, "F-1 0 "+actAccess, map[string]string{messages.FieldEndpoint: "https://ais"})), accessTyped, nil, workflow.Reported},

		{"skip storage", storage, press("U1", actSkip, "F-1 1"), skipped, nil, workflow.Reported},
		{"skip storage by anybody", storage, press("U3", actSkip, "F-1 1"), notYours, nil, workflow.AwaitingAIS},
		{"access twice", func(s *stage) { storage(s); s.does(press("U1", actSkip, "F-1 1")) }, press("U2", actAccess, "F-1 1"), staleClick, []string{"<@U1>"}, workflow.Reported},
		{"a configured access, nothing built in", storage, submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldProfile: "west-ais"}), accessKept, nil, workflow.Reported},
		{"an access of other clusters", storage, submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldProfile: "north-ais"}), accessRefused, nil, workflow.AwaitingAIS},
		{"a token that a restart lost", storage, lost(submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldEndpoint: "https://ais"})), accessLost, nil, workflow.AwaitingAIS},
		{"no token, where none is asked for", func(s *stage) { storage(s); s.desk.Storage = &access{} }, submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldEndpoint: "https://ais"}), accessTyped, nil, workflow.Reported},
		{"a token", func(s *stage) { storage(s); s.desk.Storage = &access{} }, withToken(submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldEndpoint: "https://ais"})), accessTyped, nil, workflow.Reported},
		{"a token without address", func(s *stage) { storage(s); s.desk.Storage = &access{} }, withToken(submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, nil)), accessNothing, nil, workflow.AwaitingAIS},
		{"a token that is refused", func(s *stage) { storage(s); s.desk.Storage = &access{err: errors.New("the address is not allowed")} },
			withToken(submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldEndpoint: "https://evil"})), accessRefused, []string{"the address is not allowed"}, workflow.AwaitingAIS},
		{"a configured access", func(s *stage) { storage(s); s.desk.Storage = &access{} }, submission("U1", messages.ViewAIS, "F-1 1 "+actAccess, map[string]string{messages.FieldProfile: "west-ais"}), accessProfile, []string{"west-ais"}, workflow.Reported},

		{"upload", unknown, submission("U3", messages.ViewUpload, "F-1 1 "+actUpload, nil, chat.File{ID: "A", Name: "a.out", Bytes: 3}), uploaded, []string{"1 file"}, workflow.Reported},
		{"upload of nothing", unknown, submission("U3", messages.ViewUpload, "F-1 1 "+actUpload, nil), uploadNothing, nil, workflow.AwaitingLogs},
		{"upload of too many", unknown, submission("U3", messages.ViewUpload, "F-1 1 "+actUpload, nil, make([]chat.File, 4)...), uploadTooMany, []string{"4 files", "at once (3)"}, workflow.AwaitingLogs},
		{"upload of too much", unknown, submission("U3", messages.ViewUpload, "F-1 1 "+actUpload, nil, chat.File{ID: "A", Name: "big", Bytes: 2 << 20}), uploadTooLarge, []string{"1 MiB"}, workflow.AwaitingLogs},
		{"upload that cannot be fetched", func(s *stage) { unknown(s); s.surface.noFiles = true }, submission("U3", messages.ViewUpload, "F-1 1 "+actUpload, nil, chat.File{ID: "A", Name: "a.out"}), uploadFailed, nil, workflow.AwaitingLogs},
		{"close for good", reported, submission("U1", messages.ViewClose, "F-1 0 "+actClose, map[string]string{messages.FieldVerdict: messages.VerdictRight}), closedNow, nil, workflow.Closed},
		{"close by anybody, in the window", reported, submission("U3", messages.ViewClose, "F-1 0 "+actClose, map[string]string{messages.FieldVerdict: messages.VerdictRight}), notYours, nil, workflow.Reported},
		{"dispute in the window", reported, submission("U3", messages.ViewDispute, "F-1 1 "+actDispute, map[string]string{messages.FieldCause: "gpu-ecc"}), disputed, nil, workflow.Disputed},
		{"start in the window", nil, submission("U1", messages.ViewStart, "C1", map[string]string{messages.FieldJob: "#12345"}), started, nil, workflow.Reported},
		{"start with one of the list", nil, submission("U1", messages.ViewStart, "C1", map[string]string{messages.FieldRecent: "west:12345"}), started, nil, workflow.Reported},
		{"start with nothing", nil, submission("U1", messages.ViewStart, "C1", nil), malformed, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			s.surface.files["A"] = "log"
			if c.arrange != nil {
				c.arrange(s)
			}
			c.in.Key = "the act"
			if c.in.Kind == chat.Submit && c.in.View.Callback == messages.ViewAIS && c.in.View.Hash == "token" {
				s.vault[c.in.Key] = map[string]config.Secret{messages.FieldToken: "hunter2hunter2"}
			}
			got := s.does(c.in)
			if n := len(s.answers(chat.Inbound{Key: "the act"})); n != 1 {
				t.Fatalf("%d answers: %q", n, got)
			}
			for _, w := range append(c.holds, words(c.want)...) {
				if !strings.Contains(got, w) {
					t.Errorf("answer %q\ndoes not hold %q", got, w)
				}
			}
			if c.state != "" {
				s.at("F-1", c.state)
			} else if _, err := s.store.Load(context.Background(), "F-1"); !errors.Is(err, workflow.ErrUnknown) {
				t.Errorf("an investigation was opened: %v", err)
			}
		})
	}
}

// withToken marks a submission whose token is in the vault.
// lost says that a token was typed, and is not in memory any more.
func lost(in chat.Inbound) chat.Inbound {
	in.View.Secrets = []string{messages.FieldToken}
	return in
}

func withToken(in chat.Inbound) chat.Inbound {
	in.View.Hash = "token"
	return lost(in)
}

type access struct {
	got chat.Access
	err error
}

func (a *access) Access(_ context.Context, _ workflow.Investigation, got chat.Access) error {
	a.got = got
	return a.err
}

func (a *access) Known(string) bool { return false }

func TestLogsGivenByPathMustLieBelowTheFoldersOfTheChannel(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for _, f := range []string{filepath.Join(root, "a"), filepath.Join(outside, "secret")} {
		if err := os.WriteFile(f, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": outside, "in": "a"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		root: true, root + "/a": true, root + "/in": true, root + "/": true,
		root + "/out": false, root + "/out/secret": false, outside + "/secret": false, root + "/../" + filepath.Base(outside): false,
		root + "/x/../a": false, root + "x": false, "a": false, "": false, "/dev/zero": false, root + "/\x00": false,
	} {
		if got, ok := below(path, []string{root}); ok != want {
			t.Errorf("%s: %v (%s)", path, ok, got)
		}
	}
}

func TestWhatIsNotPermittedLooksLikeWhatIsNotKnown(t *testing.T) {
	transcript := func(job string) string {
		s := newStage(t)
		s.fetch.users["west/12345"] = []string{"berta"}
		out := s.does(command("C8", job))
		for _, p := range s.all() {
			out += "\n" + string(p.Kind) + " " + p.Key + " " + textOf(t, p)
		}
		return strings.ReplaceAll(out, job, "JOB")
	}
	if a, b := transcript("12345"), transcript("77777"); a != b {
		t.Errorf("they differ:\n%s\n---\n%s", a, b)
	}
	s := newStage(t)
	s.fetch.users["west/12345"] = []string{"berta"}
	s.does(command("C8", "12345"))
	entries, _ := s.store.Ledger(context.Background(), "F-1")
	found := false
	for _, e := range entries {
		found = found || e.Kind == "refused" && e.Actor == "U1"
	}
	if !found {
		t.Errorf("the refusal is not in the ledger: %+v", entries)
	}
}

func TestEveryRefusalIsAudited(t *testing.T) {
	s := newStage(t)
	n := 0
	s.desk.Hooks.Refused = func(string) { n++ }
	s.does(command("C7", "12345"))
	s.does(command("C1", "north:12345"))
	s.does(command("C1", "12345 logs:/etc"))
	entries, _ := s.store.Ledger(context.Background(), "")
	if len(entries) != 3 || n != 3 {
		t.Fatalf("%d, %+v", n, entries)
	}
	for _, e := range entries {
		if e.Kind != "refused" || e.Actor != "U1" || e.Text == "" {
			t.Errorf("%+v", e)
		}
	}
	s.says("777")
	s.does(by("U3", command("C1", "cancel F-1")))
	entries, _ = s.store.Ledger(context.Background(), "F-1")
	if e := entries[len(entries)-1]; e.Kind != "refused" || e.Actor != "U3" {
		t.Errorf("%+v", e)
	}
}

// Logs that are named with a job whose report is there are read, as if they had been named in its thread.
func TestAPathAfterAReportIsUsed(t *testing.T) {
	s := newStage(t)
	s.says("12345")
	s.at("F-1", workflow.Reported)
	more := filepath.Join(s.logs, "more")
	if err := os.MkdirAll(more, 0o750); err != nil {
		t.Fatal(err)
	}
	if got := s.does(by("U3", command("C1", "west:12345 logs:"+more))); !strings.Contains(got, "Reading 1 more place for F-1") || !strings.Contains(got, workflow.LinkPlaceholder) {
		t.Error(got)
	}
	inv, err := s.store.Load(context.Background(), "F-1")
	if err != nil || !slices.ContainsFunc(inv.Places, func(p string) bool { return strings.HasSuffix(p, "/more") }) {
		t.Errorf("%q %v", inv.Places, err)
	}
}
