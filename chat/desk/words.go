package desk

// situation is something that is answered. Every one has words of its own, here and nowhere else.
type situation string

// The situations. The comment says what fills the words.
const (
	started         situation = "started"          // job, investigation
	startedPrivate  situation = "started-private"  // job, investigation
	startedPaths    situation = "started-paths"    // investigation
	queued          situation = "queued"           // job, investigation, how many are ahead
	searchedAll     situation = "searched-all"     // clusters, job
	unusedJob       situation = "unused-job"       // job, next numbers
	unusedNext      situation = "unused-next"      // command and job
	unusedElsewhere situation = "unused-elsewhere" // command, cluster and job
	alreadyOpen     situation = "already-open"     // job, investigation, person, what it does
	severalClusters situation = "several-clusters" // job, clusters
	unknownCluster  situation = "unknown-cluster"  // cluster, clusters of the channel
	malformed       situation = "malformed"        // what was read
	askWhat         situation = "ask-what"
	forbiddenPath   situation = "forbidden-path" // path, roots
	noRoots         situation = "no-roots"
	whichOne        situation = "which-one"      // verb
	noSuchCase      situation = "no-such-case"   // id
	lostCase        situation = "lost-case"      // id, command
	notACase        situation = "not-a-case"     // bot
	noJobKnown      situation = "no-job-known"   // job
	notInChannel    situation = "not-in-channel" // bot
	archived        situation = "archived"
	directOff       situation = "direct-off"
	external        situation = "external"
	sharedChannel   situation = "shared-channel"
	unboundChannel  situation = "unbound-channel"
	readOnly        situation = "read-only"
	notYours        situation = "not-yours" // what, requester
	secretTyped     situation = "secret-typed"
	pong            situation = "pong"         // seconds, open, waiting
	nothingHere     situation = "nothing-here" // list without cases
	explainWhat     situation = "explain-what" // bot
	explainNothing  situation = "explain-nothing"
	explainFoot     situation = "explain-foot"  // bot
	cancelled       situation = "cancelled"     // investigation
	cannotCancel    situation = "cannot-cancel" // investigation, doing
	rerunStarted    situation = "rerun"         // job, old, new
	muted           situation = "muted"         // investigation
	mutedBefore     situation = "muted-before"
	owned           situation = "owned"         // investigation
	ownedBefore     situation = "owned-before"  // investigation, person
	shared          situation = "shared"        // channel
	sharedBefore    situation = "shared-before" //
	notPrivate      situation = "not-private"
	looksNow        situation = "looks-now"
	waitsForEnd     situation = "waits-for-end"
	jobChosen       situation = "job-chosen" // job
	retried         situation = "retried"
	skipped         situation = "skipped"
	left            situation = "left"
	leftNext        situation = "left-next"
	fixesHead       situation = "fixes-head"        // mechanism
	fixesNone       situation = "fixes-none"        // investigation
	fixesHere       situation = "fixes-here"        // how often it worked, and where
	fixesTheirs     situation = "fixes-theirs"      // people's words, how often it worked
	lessonWorked    situation = "lesson-worked"     // what, how often it worked, and where
	lessonTheirs    situation = "lesson-theirs"     // how often it worked, and where
	pastAgain       situation = "past-again"        // what, and in which cases
	pastExclude     situation = "past-exclude"      // the flag
	pastCompared    situation = "past-compared"     // case, figures
	pastChanged     situation = "past-changed"      // case, what
	fixNoted        situation = "fix-noted"         // investigation, job, case
	fixAwaited      situation = "fix-awaited"       // job name, command, investigation
	fixWhich        situation = "fix-which"         // command, investigation
	fixItself       situation = "fix-itself"        // job
	fixElsewhere    situation = "fix-elsewhere"     // job
	isolateBegun    situation = "isolate-begun"     // investigation
	isolateAgain    situation = "isolate-again"     // investigation
	isolateNone     situation = "isolate-none"      // reason
	isolateNoSearch situation = "isolate-no-search" // command, investigation
	isolateNoTest   situation = "isolate-no-test"   // test
	isolateOutcome  situation = "isolate-outcome"   // what was typed
	isolateJobOpen  situation = "isolate-job-open"  // job, test
	isolateNoted    situation = "isolate-noted"     // tests and outcomes
	reproMade       situation = "repro"             // investigation
	reproNone       situation = "repro-none"        // why, what to do instead
	submitBegun     situation = "submit-begun"      // test, name of the job
	submitRefused   situation = "submit-refused"    // test, reason
	workShown       situation = "work-shown"        // investigation
	workWhat        situation = "work-what"         // command, investigation
	workNone        situation = "work-none"         // item, command, investigation
	workState       situation = "work-state"        // results
	workNoted       situation = "work-noted"        // item, result
	workProven      situation = "work-proven"       // item
	workAnswer      situation = "work-answer"       // command, investigation, number
	workLast        situation = "work-last"         // number, investigation
	workTask        situation = "work-task"         // number, task
	workDay         situation = "work-day"          // what was typed
	workFoot        situation = "work-foot"         // command, investigation
	listWhich       situation = "list-which"        // command, investigation
	listNone        situation = "list-none"         // what was typed, command, investigation
	listNoItem      situation = "list-no-item"      // list, what was typed
	listShown       situation = "list-shown"        // list, investigation
	listTicked      situation = "list-ticked"       // list, item, what became of it, how far the list is
	listHead        situation = "list-head"         // list, how far it is
	listFoot        situation = "list-foot"         // list, command, investigation
	postmortemMade  situation = "postmortem"        // investigation
	postmortemNone  situation = "postmortem-none"   // investigation
	disputed        situation = "disputed"
	disputeUpheld   situation = "upheld"
	closedNow       situation = "closed"
	wrongState      situation = "wrong-state" // doing
	staleClick      situation = "stale-click" // person, time
	staleQuestion   situation = "stale-question"
	oldVerdict      situation = "old-verdict"
	unknownButton   situation = "unknown-button"
	sentTwice       situation = "sent-twice" // case, link

	helloJob           situation = "hello-job" // job
	helloLogs          situation = "hello-logs"
	fieldJob           situation = "field-job"
	fieldEndpoint      situation = "field-endpoint"
	fieldEndpointEmpty situation = "field-endpoint-empty"
	fieldEndpointUser  situation = "field-endpoint-user"
	fieldToken         situation = "field-token"
	fieldCA            situation = "field-ca"

	tooSlow         situation = "too-slow"
	uploaded        situation = "uploaded" // number of files
	filesNowhere    situation = "files-nowhere"
	uploadNothing   situation = "upload-nothing"
	uploadTooMany   situation = "upload-too-many"  // n, limit
	uploadTooLarge  situation = "upload-too-large" // name, MiB
	uploadFailed    situation = "upload-failed"    // name
	logsGiven       situation = "logs-given"       // number of places
	logsOfOpen      situation = "logs-of-open"     // number of places, id, link
	accessProfile   situation = "access-profile"   // profile
	accessTyped     situation = "access-typed"
	accessKept      situation = "access-kept"
	accessLost      situation = "access-lost"
	accessNothing   situation = "access-nothing"
	storageOffered  situation = "storage-offered" // commands
	accessRefused   situation = "access-refused"  // reason
	noReport        situation = "no-report"
	buried          situation = "buried"        // reason
	buriedRun       situation = "buried-run"    // reason
	ownFault        situation = "own-fault"     // what does not work, and why
	pressInstead    situation = "press-instead" // the button's name
	unknownHere     situation = "unknown-here"  // job
	statusNone      situation = "status-none"
	statusOpen      situation = "status-open"  // how many
	statusQueue     situation = "status-queue" // how many
	statusScore     situation = "status-score"
	statusNoScore   situation = "status-no-score"
	homeMine        situation = "home-mine"
	homeWaiting     situation = "home-waiting"
	homeNewest      situation = "home-newest"
	homeNoneOpen    situation = "home-none-open"
	homeNoneWaiting situation = "home-none-waiting"
	homeNoneNewest  situation = "home-none-newest"
	helpHead        situation = "help-head"
	helpFoot        situation = "help-foot" // bot

	// Of what nobody asked for.
	ownerFirst     situation = "owner-first"    // job, name, cluster, state, investigation
	ownerToo       situation = "owner-too"      // investigation
	ownerOnly      situation = "owner-only"     // investigation
	ownerNothing   situation = "owner-nothing"  // job, investigation, reason
	ownerRepeat    situation = "owner-repeat"   // job, name, cluster, state, first job, investigation
	threadRepeats  situation = "thread-repeats" // jobs, first job
	noteWatched    situation = "note-watched"   // state, end, how long it ran
	monthHead      situation = "month-head"     // when, cases, with a cause
	monthTook      situation = "month-took"     // in the middle, at most
	monthRated     situation = "month-rated"    // right, wrong, unrated
	monthFixes     situation = "month-fixes"    // proven, not, waiting
	monthPatterns  situation = "month-patterns" // number
	digestHead     situation = "digest-head"    // jobs
	digestMore     situation = "digest-more"    // lines
	digestFoot     situation = "digest-foot"    // command
	digestPosted   situation = "digest-posted"
	digestNothing  situation = "digest-nothing"
	watchPaused    situation = "watch-paused"     // cluster, command, what takes it back
	watchResumed   situation = "watch-resumed"    // cluster
	watchAllPaused situation = "watch-all-paused" // person
	watchNotPaused situation = "watch-not-paused" // cluster
	watchRests     situation = "watch-rests"      // cluster, person, for how long
	watchNever     situation = "watch-never"      // cluster
	watchFails     situation = "watch-fails"      // cluster, for how long, reason
	watchWorks     situation = "watch-works"      // cluster, how long ago
	watchNothing   situation = "watch-nothing"
	watchDigest    situation = "watch-digest" // lines, command
	watchMuted     situation = "watch-muted"  // name, person
	malformedWatch situation = "malformed-watch"
	watchJobOn     situation = "watch-job-on"     // job, command, investigation
	watchJobOff    situation = "watch-job-off"    // investigation
	watchJobNot    situation = "watch-job-not"    // investigation
	watchJobBefore situation = "watch-job-before" // investigation, person
	watchJobOver   situation = "watch-job-over"   // investigation
	watchAllOn     situation = "watch-all-on"     // command
	watchAllOff    situation = "watch-all-off"
	notWatched     situation = "not-watched" // cluster
	adminsOnly     situation = "admins-only" // what
	muteWhat       situation = "mute-what"   // command

	setupOff      situation = "setup-off"
	setupWhat     situation = "setup-what"     // an example
	setupWhich    situation = "setup-which"    // an example
	setupWrong    situation = "setup-wrong"    // why
	setupFailed   situation = "setup-failed"   // job, cluster, why
	setupTried    situation = "setup-tried"    // job, cluster
	setupSaved    situation = "setup-saved"    // cluster, command
	setupUnproven situation = "setup-unproven" // command
	setupAnyway   situation = "setup-anyway"   // cluster, command
	setupStale    situation = "setup-stale"    // command
	setupIs       situation = "setup-is"       // cluster, templates, person, when, how
	setupOrder    situation = "setup-order"    // command
	setupNone     situation = "setup-none"     // command
	setupCleared  situation = "setup-cleared"  // clusters
	nameMuted     situation = "name-muted"     // name, command, name
	nameUnmuted   situation = "name-unmuted"
	nameNotMuted  situation = "name-not-muted"
	mutedTooMany  situation = "muted-too-many" // limit

	// In the thread and in the case file.
	threadReminder   situation = "thread-reminder" // person, question
	threadFailed     situation = "thread-failed"   // person, reason
	threadCancelled  situation = "thread-cancelled"
	threadExpired    situation = "thread-expired"     // person
	threadHolding    situation = "thread-holding"     // messages an hour
	threadDue        situation = "thread-due"         // person, number, task, day, investigation
	threadFixBegun   situation = "thread-fix-begun"   // person, what
	threadFixNext    situation = "thread-fix-next"    // job, case
	threadFixClaimed situation = "thread-fix-claimed" // person, job, case
	threadDisputed   situation = "thread-disputed"
	threadActing     situation = "thread-acting" // people
	noteClosed       situation = "note-closed"   // why
	threadUpheld     situation = "thread-upheld"
	threadClosed     situation = "thread-closed"
	threadClosedAuto situation = "thread-closed-auto"
	threadNoFailure  situation = "thread-no-failure"
	threadNoEnd      situation = "thread-no-end"
	threadLook       situation = "thread-look"
	threadRunning    situation = "thread-running"
	threadStalled    situation = "thread-stalled" // people
	threadSteps      situation = "thread-steps"   // job, when
	threadFiles      situation = "thread-files-superseded"
	askedUntil       situation = "asked-until" // time
	askedAnswered    situation = "asked-answered"
	askedArrived     situation = "asked-arrived"
	askedEnded       situation = "asked-ended"
	askedExpired     situation = "asked-expired"
	askedNeedless    situation = "asked-needless"
	askedWithout     situation = "asked-without"
)

// texts are the words. A sentence that says no also says what can be done.
var texts = map[situation]string{
	started:         "Investigating job %s as %s. Follow along in the thread: %s",
	startedPrivate:  "Investigating job %s privately as %s: only you see it. You can share it later. %s",
	startedPaths:    "Investigating your logs as %s. Follow along in the thread: %s",
	queued:          "Job %s is queued as %s: %d %s first. You can close this window. %s",
	searchedAll:     "Job %[2]s isn't known on %[1]s. I'm still searching for its logs.",
	unusedJob:       "There is no job %s yet (the next ID is %s). Check the ID; I haven't opened a case.",
	unusedNext:      "If you have its logs, write `%s logs:/path`, or open a case and upload them there.",
	unusedElsewhere: "On another cluster? Name it: `%s %s`.",
	alreadyOpen:     "Job %s is already being investigated as %s, requested by %s; I'm %s. See %s",
	severalClusters: "Job %s exists on several clusters: %s. Which one do you mean?",
	unknownCluster:  "Unknown cluster %s. This channel can use: %s.",
	malformed:       "%s isn't a job ID. A job ID looks like 12345, 12345_7 (array task), 12345+0 (het job component) or west:12345 (cluster). `help` shows more.",
	askWhat:         "I can't answer that from the report. Ask about a rank or node (`is node07 broken?`, `why not rank 3?`), or ask who waited, when it failed, why, or what to do next.",
	forbiddenPath:   "I can't read %s: it doesn't exist, or it's outside the folders this channel may use: %s.",
	noRoots:         "I can't read files by path in this channel because no folder is configured for it. You can upload the logs instead.",
	whichOne:        "Which one? Write `%s F-12` or `%s 12345`. `list` shows all of them.",
	lostCase:        "The case behind this button (%s) was lost when my data was restored. Ask again with %s and the job ID.",
	noSuchCase:      "There is no investigation %s in this channel. `list` shows all of them.",
	notACase:        "This thread isn't one of my cases. Mention me in a case thread, or start one with `%s 12345`.",
	noJobKnown:      "There is no investigation for job %s in this channel. `list` shows all of them.",
	notInChannel:    "I'm not in this channel, so nobody would see my answer. Type `/invite %s` here and ask again, or add `private` to get the answer in a direct message.",
	archived:        "This channel is archived, so I can't post here. Ask in another channel, or unarchive it.",
	directOff:       "I don't investigate in direct messages here. Ask in your team's channel, so others can see the findings too.",
	external:        "I only answer members of this workspace, because logs contain machine names and paths. Ask a team member here to run it.",
	sharedChannel:   "People from another organization can read this channel, and logs contain machine names and paths. Add `private` to get the answer in a direct message, or ask an admin to allow this channel.",
	unboundChannel:  "This channel isn't connected to a cluster. An administrator can connect it; until then, ask in your team's channel.",
	readOnly:        "This channel is read-only. Start and change investigations in your team's channel.",
	notYours:        "You can't %s: only %s and trusted users can. This attempt was logged.",
	secretTyped:     "That looked like a token or password where others can read it. I ignored it and stored nothing. Rotate it now, delete the message, and use the button instead: only I see what you enter there.",
	pong:            "I'm up. I got your message %s after you sent it. Open investigations: %d. Queued: %d.",
	explainWhat:     "Paste what to explain after the command: an error line, exit code, variable or term, as in `%s explain exit code 137`.",
	explainNothing:  "No match. The closest entries:",
	explainFoot:     "This command explains terms. To find the rank that broke a job, run `%s 12345`.",
	nothingHere:     "No investigations in this channel yet. Start one with `%s 12345`.",
	cancelled:       "Stopped %s. To reopen it, add logs or press *Run again*.",
	cannotCancel:    "%s can't be cancelled: I'm %s. Use *Close* if you are done with it.",
	rerunStarted:    "Running job %s again: %s is closed, and %s starts fresh. Both stay readable. %s",
	muted:           "Reminders are off in %s. Questions stay open; I'll continue once they're answered.",
	mutedBefore:     "Reminders in %s are already off.",
	owned:           "%s is yours: the case file shows you as its owner, and reminders have stopped.",
	ownedBefore:     "%s already has an owner: %s.",
	shared:          "Shared: the verdict is now in %s too.",
	sharedBefore:    "Already shared. A newer verdict will replace it there automatically.",
	notPrivate:      "Nothing to share: this investigation is already public in its channel, or has no verdict yet.",
	looksNow:        "Looking now. You'll see how the job is doing; the report follows when it ends.",
	waitsForEnd:     "I'll start when its logs go quiet. To start earlier, press *Look now* under the case file.",
	jobChosen:       "Re-running the analysis for job %s only.",
	retried:         "Starting over.",
	fixesHead:       "*What helps when %s*",
	fixesNone:       "%s has no single cause yet, so I can't say what helps. Its report lists what to do next.",
	fixesHere:       "*Worked here %s.*",
	fixesTheirs:     "• In this channel's words: %s. *Worked %s.*",
	lessonWorked:    "*Worked here before*: %s (%s).",
	pastAgain:       "*Seen here before*: %s (%s).",
	pastExclude:     "Resubmit without it (%s), and have it checked.",
	pastCompared:    "*Compared with %s*, an earlier run of this job: %s.",
	pastChanged:     "*Changed since %s*, the last good run of this job: %s.",
	lessonTheirs:    "*Solved here before* (%s): open that case to see how.",
	fixNoted:        "Noted. Once job %s (%s) has a report, I'll compare the two runs and post in the thread of %s whether the fix worked.",
	fixAwaited:      "Noted. When the next run of %s ends, I'll compare it and post whether the fix worked. To compare a run sooner, name it: `%s fixed %s 12345`.",
	fixWhich:        "Which run has the fix? Write `%s fixed %s 12345`, and what you changed.",
	fixItself:       "Job %s is the run that failed. Name the run with the fix.",
	isolateBegun:    "The first test is in the thread for %s. Run it, then press the button for its result.",
	isolateAgain:    "The open tests are in the thread of %s again.",
	isolateNone:     "I can't search here: %s.",
	isolateNoSearch: "No search is running here. Run `%s isolate %s` first.",
	isolateNoTest:   "There is no test %s in this search.",
	isolateOutcome:  "I can't read %s. Write `1a=pass`, `1a=fail` or `1a=void`, or the number of the job that ran the test.",
	isolateJobOpen:  "I can't tell yet how job %s ended. Write `%s=pass` or `fail` yourself.",
	reproMade:       "The script is in the thread of %s.",
	reproNone:       "%s. %s",
	submitBegun:     "Submitting test %s as job `%s`. I'll note its outcome when it ends.",
	submitRefused:   "I can't submit test %s: %s.",
	isolateNoted:    "Noted: %s. Once every test of the round has a result, I'll post in the thread what to run next.",
	fixElsewhere:    "Job %s is under investigation in another channel, so I can't compare it here.",
	workShown:       "The open work is in the thread of %s.",
	workWhat:        "I can't read that. Write `%[1]s work %[2]s` to list the work, then name an item: `h1 supports`, `w4 because …`, `a2 me 2026-12-01`, `a2 done`, or `add …`.",
	workNone:        "There is no %s here. `%s work %s` lists the items.",
	workState:       "How did the test end? Write one of `%s`, and what you saw.",
	workNoted:       "Noted: %s is %s. If that changes the verdict, the thread says so.",
	workProven:      "The logs already answer %s.",
	workAnswer:      "Write the answer after the number: `%s work %s w%d because …`.",
	workLast:        "Noted as your answer to w%d. Every why has an answer; `postmortem %s` shows them.",
	workTask:        "Noted. a%d: %s.",
	workDay:         "%s isn't a day. Write it as 2026-12-01.",
	workFoot:        "Write `%[1]s work %[2]s` and what you did: `h1 contradicts …`, `w4 because …`, `a2 me 2026-12-01`, `a2 done`, `add …`. I'll remind the owner on the due date.",
	listWhich:       "Which checklist? Write `%s checklist %s pre-training`.",
	listNone:        "There is no checklist %s. `%s checklist %s` names them.",
	listNoItem:      "The checklist %s has no item %s.",
	listShown:       "The checklist %s is in the thread of %s.",
	listTicked:      "Checklist %s: %s is %s. %s.",
	listHead:        "*Checklist %s*: %s",
	listFoot:        "`bot check --checklist %[1]s` checks the nodes and paths before `sbatch`. To undo a tick: `%[2]s checklist %[3]s %[1]s ITEM undo`.",
	postmortemMade:  "The post-mortem for %s is in its thread, where you can read and edit it.",
	postmortemNone:  "%s has no report yet. Try again once it has a verdict.",
	skipped:         "Continuing without the storage logs. The report will say that storage was not examined.",
	left:            "Noted. The report doesn't need it and lists it as missing.",
	leftNext:        "Noted. I'll continue without it and ask for the next best thing in the thread.",
	disputed:        "Noted: the verdict is now marked as disputed, and your reason is saved. The advice stays visible.",
	disputeUpheld:   "The dispute is withdrawn; the verdict stands.",
	closedNow:       "Closed. Thanks: the true cause is saved with the case and counted in `status`.",
	wrongState:      "That isn't possible right now: I'm %s.",
	staleClick:      "%s already answered that at %s. Nothing changed.",
	staleQuestion:   "That question is already closed. Nothing changed.",
	oldVerdict:      "A newer verdict is in the thread. If that one is wrong too, dispute it there.",
	sentTwice:       "This message was sent twice. Case %s continues in the other one: %s.",
	unknownButton:   "I don't know this button; it may come from an older version of me. `help` shows what I can do now.",
	tooSlow:         "The dialog didn't open in time (Slack allows three seconds). Press the button or type the command again.",
	uploaded:        "Thanks: %d %s. Reading now; I'll post what changes.",
	filesNowhere:    "Files belong in a case thread: start a case with `%s 12345`, then mention me in its thread and attach them.",
	uploadNothing:   "No file was attached. Press the button again and choose files, or give a folder with `logs:/path`.",
	uploadTooMany:   "%d files is more than I can take at once (%d). Put them in one archive (tar.gz or zip).",
	uploadTooLarge:  "%s is larger than %d MiB. Compress it, or put it on a file system I can read and give its path with `logs:/path`.",
	uploadFailed:    "I couldn't download %s from Slack. Please upload it again.",
	logsGiven:       "Thanks: reading %d more %s; I'll post what changes.",
	logsOfOpen:      "Reading %d more %s for %s; I'll post what changes. See %s",
	accessProfile:   "Thanks: fetching the storage logs with the configured access %s.",
	accessTyped:     "Thanks: fetching the storage logs. The token stays in memory and is wiped after use.",
	accessKept:      "This version can't fetch storage logs yet. I wiped the token, and the report still says that storage was not examined. You can still upload the daemons' logs to keep them with the case.",
	accessLost:      "I restarted before I could use the token, and I keep tokens only in memory. Enter it again with the button under the question.",
	accessNothing:   "Choose a configured cluster, or enter a URL and, if the cluster needs one, a token.",
	accessRefused:   "That access doesn't work: %s. Nothing was saved.",
	storageOffered:  "The job's logs don't show which storage it uses. I can read AIStore logs too: give me access, or run %s and %s and upload the file.",
	noReport:        "No report yet; I'm %s.",
	buried:          "That failed several times: %s. Nothing changed. My admins see this too; try again later.",
	buriedRun:       "I tried several times and couldn't continue: %s",
	ownFault:        "%s. Your logs are fine, and you don't need to do anything. I'll keep trying.",
	pressInstead:    "Press *%s* and tell me what it was (two questions, one optional).",
	unknownHere:     "I found no logs for job %s that this channel may see.",
	statusNone:      "Nothing is open in this channel.",
	statusOpen:      "%s open in this channel:",
	statusQueue:     "Running or queued: %s.",
	statusScore:     "Confirmed and disputed verdicts: ",
	statusNoScore:   "No verdict has been rated yet. *Close* asks for a rating.",
	homeMine:        "*Your investigations*",
	homeWaiting:     "*Waiting for you*",
	homeNewest:      "*Latest: yours and public channels'*",
	homeNoneOpen:    "You have no open investigations.",
	homeNoneWaiting: "Nothing is waiting for you.",
	homeNoneNewest:  "None yet.",
	helpHead:        "I find out why distributed jobs fail. Every claim cites a file and line and is re-checked before you see it.",
	helpFoot:        "Mention me in a case thread: `%[1]s status`, `%[1]s logs:/path`, `%[1]s why`, or ask a question such as `%[1]s is node07 broken?`. Files attached to a mention are read. Every question I ask is optional. I only read; you run the commands.",

	helloJob:           "Looking up job %s…",
	helloLogs:          "Opening these logs…",
	fieldJob:           "That isn't a job ID. Use the ID from squeue or sacct: 12345, 12345_7, or with a cluster, west:12345.",
	fieldEndpoint:      "Enter the URL of a gateway, such as https://ais.example.org:51080.",
	fieldEndpointEmpty: "Choose a configured storage cluster above, or enter its gateway URL here.",
	fieldEndpointUser:  "Leave the user and password out of the URL; the token has its own field.",
	fieldToken:         "A token has no spaces. Paste only the token, as printed by `ais auth login`.",
	fieldCA:            "Paste the CA certificate, from BEGIN CERTIFICATE to END CERTIFICATE.",

	ownerFirst:     "Your job %s (%s) on %s ended with %s. I'm reading its logs as %s and will tell you here first.",
	ownerToo:       "This may affect others too, so I'm posting it in your team's channel as %s.",
	ownerOnly:      "This seems to affect only your job, so I won't post it in the channel. It will be one line in the next digest, as %s.",
	ownerNothing:   "I can't tell why job %s ended (%s): %s. If you know where its logs are, add `logs:/path` after the job ID.",
	ownerRepeat:    "Your job %s (%s) on %s ended with %s. It looks related to job %s (%s in your team's channel): the same array, the same job again, or a node that failed there. I won't investigate it separately unless you ask.",
	threadRepeats:  "*It happened again*: %s failed after %s: the same job again, part of its array, or a job on one of the nodes above. I won't investigate each one; ask if you want one.",
	noteWatched:    "Automatic: the job ended with %s at %s after running for %s.",
	monthHead:      "*%s*: %s, %d with a single cause.",
	monthTook:      "Time to a verdict, without waiting for people or the job: %s (median), %s at most.",
	monthRated:     "Verdicts: %d right, %d wrong, %d not rated.",
	monthPatterns:  "Patterns in these runs: %d. `digest month` lists them for you alone.",
	monthFixes:     "Fixes: %d proven by the next run, %d not, %d waiting.",
	digestHead:     "*Digest*: %s failed. I didn't post them individually because they affect only their owners, or there were too many.",
	digestMore:     "And %s more.",
	digestFoot:     "To show one here, type `%s` and its job ID.",
	digestPosted:   "The digest is in the channel.",
	digestNothing:  "Nothing for this channel's digest.",
	watchPaused:    "Watching %s is paused for all channels. Jobs that fail before `%s %s` won't be investigated later either.",
	watchResumed:   "Watching %s again from now on. Jobs that ended during the pause are skipped.",
	watchAllPaused: "But %s paused the watch on all clusters, and that pause is still in effect.",
	watchNotPaused: "%s isn't paused individually. Use `watch resume` without a name to lift a pause on everything.",
	watchRests:     "%s: paused by %s %s ago.",
	watchNever:     "%s: watched, not queried yet.",
	watchFails:     "%s: no list of ended jobs for %s: %s. Nothing is lost: I'll catch up when it answers.",
	watchWorks:     "%s: watched, queried %s ago.",
	watchNothing:   "Nothing is watched for this channel. An administrator can configure a watch.",
	watchDigest:    "%s waiting for the digest; `%s digest` shows them now.",
	watchMuted:     "Muted: jobs named %s, by %s.",
	malformedWatch: "Unknown command %s. Use `status`, `pause` or `resume`, with an optional cluster name, or the ID of a running job.",
	watchJobOn:     "Watching job %s until it ends. I look at its logs every minute or less often, and post once per stall. `%s watch off %s` stops it.",
	watchJobOff:    "No longer watching %s.",
	watchJobNot:    "%s isn't being watched.",
	watchJobBefore: "%s is already being watched, for %s.",
	watchJobOver:   "The job of %s isn't running any more; there is nothing to watch.",
	watchAllOn:     "Running jobs that someone asks about in this channel are watched until they end. `%s watch running off` turns this off.",
	watchAllOff:    "Running jobs in this channel are no longer watched by themselves. A watch that has begun ends with its job.",
	notWatched:     "Cluster %s is not being watched.",
	adminsOnly:     "You can't %s: only admins can. This attempt was logged.",
	setupOff:       "This channel can't set its log location: no cluster here can be queried about jobs, so I couldn't test it.",
	setupWhat:      "Send me the ID of a finished job and its log file pattern in SLURM's format: %s. I'll test the pattern right away.",
	setupWhich:     "Which job should I test that on? Send the ID of a finished one: %s.",
	setupWrong:     "I can't use that: %s.",
	setupFailed:    "I couldn't test that on job %s on %s: %s.",
	setupTried:     "Your pattern found these logs for job %s on %s:",
	setupSaved:     "*Saved for this channel.* From now on I'll also look for logs on %s there, after the paths in the job's script and before those in the configuration. See `%s setup show`.",
	setupUnproven:  "*Not saved*, because some logs were not found. Change it with `%s setup`, or save it anyway.",
	setupAnyway:    "Saved for this channel. If nothing is found there, I'll look for logs on %s as before. See `%s setup show`.",
	setupStale:     "That isn't what you tested last. Test it again with `%s setup`.",
	setupIs:        "On %s: %s, set by %s on %s (UTC); %s.",
	setupOrder:     "I look there after the paths you give and those in the job's script, but before those in the configuration. Change it with `%[1]s setup`; remove it with `%[1]s setup clear`.",
	setupNone:      "Nothing is set for this channel. I look at the paths in the job's script and in the configuration. Set one with `%s setup`.",
	setupCleared:   "Removed for this channel. I'll look for logs on %s as before.",
	muteWhat:       "Which name? Write `%s mute job-name train-7b`, as `squeue` shows it.",
	nameMuted:      "Jobs named %s won't be reported here any more. Undo with `%s unmute job-name %s`.",
	nameUnmuted:    "Jobs named %s will be reported here again.",
	nameNotMuted:   "%s isn't muted here.",
	mutedTooMany:   "%d names are already muted here, which is the limit. Ask an admin to exclude more in the configuration.",

	threadReminder:   "%s, this is still open: %s",
	threadFailed:     "%s, I couldn't finish: %s. Press *Try again* to start over; other logs may help.",
	threadCancelled:  "Cancelled by %s. I've stopped reading. Logs that arrive later reopen the case.",
	threadHolding:    "I've reached my limit of %d automatic updates per hour. The case at the top of this thread stays up to date; the latest update will follow.",
	threadExpired:    "%s, no logs arrived in time, so I stopped. Send them whenever you have them and I'll continue from here.",
	threadDue:        "%s, a%d was due on %[4]s: %[3]s Tick it with `work %[5]s a%[2]d done`.",
	threadFixBegun:   "%s says it's fixed. I'm waiting for the next run of this job to prove it.",
	threadFixNext:    "Job %s (%s) is the next run of this job. When its report is ready, I'll compare it with this one.",
	threadFixClaimed: "%s named job %s as the run with the fix (%s). When its report is ready, I'll compare it with this one.",
	threadDisputed:   "%s disputes this verdict. The advice above stays for reference; both opinions are listed here.",
	threadActing:     "%s: you may already have acted on the earlier verdict.",
	noteClosed:       "Closed: %s.",
	threadUpheld:     "%s withdrew the dispute. The verdict stands.",
	threadClosed:     "Closed by %s: the verdict was %s.",
	threadClosedAuto: "Closed automatically after a week without activity.",
	threadNoFailure:  "I found no failure in these logs. If you saw it fail, press *Run again* or add the missing logs.",
	threadNoEnd:      "No failure found, but these logs don't show how the job ended. If it's hanging, don't cancel it yet: `bot collect` shows which rank is blocking it. If it failed, add the missing logs.",
	threadRunning:    "The job is still running. When it ends, I'll look again and post the report here.",
	threadStalled:    "For %s: I'm watching this job. I'll edit this message when steps continue, and post the report when the job ends.",
	threadSteps:      "Job %s had stopped stepping. By %s, steps continued. Now:",
	threadLook:       "*First look*: the logs are large, so I've only read the start and end of each. I'm reading the rest and will post what changes.",
	threadFiles:      "The files below replace the earlier ones.",
	askedUntil:       "Waiting until %s. Later logs still count.",
	askedAnswered:    "Answered by %s.",
	askedArrived:     "Logs arrived; continuing.",
	askedEnded:       "The job ended; continuing.",
	askedExpired:     "No answer in time.",
	askedNeedless:    "No longer needed.",
	askedWithout:     "%s doesn't have it.",
}

// say fills the words of a situation.
func say(s situation, args ...any) string { return fill(marked(texts[s]), args...) }

// Reasons of refusals, for the audit trail.
const (
	refusedExternal = "someone from another organization"
	refusedDirect   = "direct messages are off"
	refusedChannel  = "the channel isn't connected to a cluster"
	refusedShared   = "people from another organization are in the channel"
	refusedReadOnly = "the channel is read-only"
	refusedCluster  = "the cluster isn't available in this channel"
	refusedPath     = "a path outside the channel's folders"
	refusedPerson   = "neither the requester nor a trusted user"
	refusedAdmin    = "not an administrator"
	refusedCase     = "an investigation from another channel"
)
