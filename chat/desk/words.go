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
	fixNoted        situation = "fix-noted"       // investigation, job, case
	fixWhich        situation = "fix-which"       // command, investigation
	fixItself       situation = "fix-itself"      // job
	fixElsewhere    situation = "fix-elsewhere"   // job
	postmortemMade  situation = "postmortem"      // investigation
	postmortemNone  situation = "postmortem-none" // investigation
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
	startedPaths:    "Investigating the logs that you named as %s. Follow along in the thread: %s",
	queued:          "Job %s is queued as %s: %d %s first. You can close this window. %s",
	searchedAll:     "No cluster of this channel knows job %[2]s: I looked on %[1]s. I'm still searching for its logs.",
	unusedJob:       "There is no job %s yet: the next number is %s. Check the number; I opened no case.",
	unusedNext:      "If you have its logs, write `%s logs:/path`, or open a case and upload them there.",
	unusedElsewhere: "On another cluster? Name it: `%s %s`.",
	alreadyOpen:     "Job %s is already being investigated as %s, requested by %s; I am %s. It is here: %s",
	severalClusters: "Several clusters know job %s: %s. Which one do you mean?",
	unknownCluster:  "I know no cluster %s here. This channel can ask about: %s.",
	malformed:       "%s isn't a job ID. A job ID looks like 12345, 12345_7 (array task), 12345+0 (heterogeneous part) or west:12345 (cluster). `help` shows more.",
	askWhat:         "I can't answer that from the report. Ask about a rank or node (`is node07 broken?`, `why not rank 3?`), who waited, when, why, or what next.",
	forbiddenPath:   "I cannot read %s here: it does not exist, or it is outside the folders that this channel may use: %s.",
	noRoots:         "I may not read files by their path in this channel: no folder is configured for it. You can upload the logs instead.",
	whichOne:        "Which one? Write `%s F-12` or `%s 12345`. `list` shows the ones there are.",
	lostCase:        "I no longer have the case behind this button; it was lost when my data was restored. It was called %s. Ask again with %s and the job ID.",
	noSuchCase:      "I know no investigation %s in this channel. `list` shows the ones there are.",
	notACase:        "This thread is not one of my cases. Mention me under a case, or write `%s 12345` to begin one.",
	noJobKnown:      "There is no investigation for job %s in this channel. `list` shows the ones there are.",
	notInChannel:    "I am not in this channel, so nobody would see my answer. Type `/invite %s` here, then ask again; or add the word `private` and I answer in your direct messages.",
	archived:        "This channel is archived: I cannot post here. Ask in another channel, or unarchive it.",
	directOff:       "I do not investigate in direct messages here. Ask in a channel of your team: what is found there helps the next person too.",
	external:        "You belong to another organisation. I answer members of this workspace only, because logs name machines and paths. Ask a team member to run it.",
	sharedChannel:   "People of another organisation can read this channel, and logs name machines and paths. Add the word `private` to get the answer in your direct messages, or ask an administrator to allow this channel.",
	unboundChannel:  "This channel isn't connected to a cluster. An administrator can connect it; until then, ask in your team's channel.",
	readOnly:        "This channel only shows investigations. Start and change them in the channel of your team.",
	notYours:        "You cannot %s: only %s and trusted people can. The attempt is logged.",
	secretTyped:     "That looked like a token or password in a place where others can read it. I ignored it and stored nothing. Rotate it now, delete the message, and use the button instead: only I see what you type there.",
	pong:            "I am here. I read your message %s after you sent it. Open investigations: %d. Waiting for their turn: %d.",
	explainWhat:     "Paste what to explain after the command: an error line, exit code, variable or term, as in `%s explain exit code 137`.",
	explainNothing:  "No match. The closest entries:",
	explainFoot:     "This explains words. To find the rank that broke a job, run `%s 12345`.",
	nothingHere:     "There is no investigation in this channel yet. Write `%s 12345` to begin one.",
	cancelled:       "Stopped %s. Logs that arrive later, or *Run again*, reopen it.",
	cannotCancel:    "%s cannot be cancelled: I am %s. Use *Close* if you are done with it.",
	rerunStarted:    "Running job %s again: %s is closed, and %s starts fresh. Both stay readable. %s",
	muted:           "Reminders are off in %s. Questions stay open, and I continue when they are answered.",
	mutedBefore:     "Reminders in %s are off already.",
	fixNoted:        "Noted. Once job %s (%s) has its report, I compare the two runs and post in the thread of %s whether the fix worked.",
	fixWhich:        "Which run has the fix? Write `%s fixed %s 12345`, and what you changed.",
	fixItself:       "Job %s is the run that failed. Name the run with the fix.",
	fixElsewhere:    "Job %s is under investigation in another channel, so I can't compare it here.",
	postmortemMade:  "The post-mortem of %s is in its thread, to read and to edit.",
	postmortemNone:  "%s has no report yet. Try again when its verdict is there.",
	owned:           "%s is yours: the case file names you as its owner, and reminders stop.",
	ownedBefore:     "%s has an owner already: %s.",
	shared:          "Shared: the verdict is now in %s, too.",
	sharedBefore:    "It was shared already; a newer verdict replaces the old one there by itself.",
	notPrivate:      "There is nothing to share: this investigation is public in its channel, or has no verdict yet.",
	looksNow:        "Looking now. You get how the job is doing; the report follows when it ends.",
	waitsForEnd:     "I'll start when its logs are quiet. *Look now* stays under the case file.",
	jobChosen:       "I look again at job %s only.",
	retried:         "I try again from the beginning.",
	skipped:         "Continuing without the storage logs. The report will say that storage was not examined.",
	left:            "Noted. The report stands without it and lists it as missing.",
	leftNext:        "Noted. The report stands without it. I'll ask for the next best thing in the thread.",
	disputed:        "Noted: the verdict is marked as disputed, and your reason is kept. The advice stays visible.",
	disputeUpheld:   "The dispute is withdrawn; the verdict stands.",
	closedNow:       "Closed. Thanks: the true cause is kept with the case and counted in `status`.",
	wrongState:      "That does not fit just now: I am %s.",
	staleClick:      "That was already answered by %s at %s. Nothing was changed.",
	staleQuestion:   "That question is not open any more. Nothing was changed.",
	oldVerdict:      "A newer verdict is in the thread. Please look at that one; if it is wrong too, dispute it there.",
	sentTwice:       "This message was sent twice. Case %s goes on in the other one: %s.",
	unknownButton:   "I don't know this button; it may come from an older version of me. `help` shows what I can do now.",
	tooSlow:         "The window could not be opened in time (Slack allows three seconds). Press the button or type the command again.",
	uploaded:        "Thanks: %d %s. Reading now; I'll post what changes.",
	filesNowhere:    "I take files in the thread of a case: begin one with `%s 12345`, and put them beside a mention of me in its thread.",
	uploadNothing:   "No file came with that. Press the button again and choose files, or name a folder with `logs:/path`.",
	uploadTooMany:   "%d files are more than the %d that I take at a time. Put them into one archive (tar.gz or zip).",
	uploadTooLarge:  "%s is larger than %d MiB. Compress it, or put it on a file system that I can read and name it with `logs:/path`.",
	uploadFailed:    "I could not get %s from Slack. Please upload it once more.",
	logsGiven:       "Thanks: reading %d more %s; I'll post what changes.",
	logsOfOpen:      "Reading %d more %s for %s; I'll post what changes. It is here: %s",
	accessProfile:   "Thanks: fetching the storage logs with the configured access %s.",
	accessTyped:     "Thanks: fetching the storage logs. The token stays in memory and is wiped after use.",
	accessKept:      "Noted, but fetching storage logs is not built into this version yet: I have wiped the token, and the report keeps saying that storage was not examined. You can still upload the daemons' logs, so that they stay with the case.",
	accessLost:      "I restarted before I could use the token, and tokens are kept in memory only. Enter it again with the button under the question.",
	accessNothing:   "Nothing was chosen and no address typed. Choose a configured access, or type an address, and a token if the cluster needs one.",
	accessRefused:   "I cannot use that access: %s. Nothing was saved.",
	storageOffered:  "The job's logs do not name its storage. I can read the AIStore logs as well: give me access, or run %s and %s and upload the file.",
	noReport:        "There is no report yet; I am %s.",
	buried:          "I tried several times and could not do that: %s. Nothing was changed. My administrators see this too; try again later.",
	buriedRun:       "I tried several times and could not continue: %s",
	ownFault:        "%s. Your logs are fine and you need to do nothing. I keep trying.",
	pressInstead:    "Press *%s* and tell me what it was: two questions, one of them optional.",
	unknownHere:     "I looked for logs of job %s and found none that this channel may see.",
	statusNone:      "Nothing is open in this channel.",
	statusOpen:      "%s open in this channel:",
	statusQueue:     "Running or queued: %s.",
	statusScore:     "Confirmed and disputed verdicts: ",
	statusNoScore:   "No verdict was rated yet; *Close* asks.",
	homeMine:        "*Your investigations*",
	homeWaiting:     "*Waiting for you*",
	homeNewest:      "*The newest, of you and of public channels*",
	homeNoneOpen:    "None of yours is open.",
	homeNoneWaiting: "Nothing waits for you.",
	homeNoneNewest:  "There is none yet.",
	helpHead:        "I find out why a distributed job failed. Every claim cites a file and line, re-checked before you see it.",
	helpFoot:        "Mention me in a case thread: `%[1]s status`, `%[1]s logs:/path`, `%[1]s why`, or ask a question such as `%[1]s is node07 broken?`. Files attached to a mention are read. Every question I ask is optional. I only read; commands are for you to run.",

	helloJob:           "Looking up job %s…",
	helloLogs:          "Opening these logs…",
	fieldJob:           "That isn't a job ID. Use what squeue and sacct show: 12345, 12345_7, or with its cluster west:12345.",
	fieldEndpoint:      "Write the address of a gateway, such as https://ais.example.org:51080.",
	fieldEndpointEmpty: "Choose a configured storage cluster above, or write the address of its gateway here.",
	fieldEndpointUser:  "Leave user and password out of the address; the token has a field of its own.",
	fieldToken:         "A token has no spaces. Paste the token alone, as `ais auth login` printed it.",
	fieldCA:            "Paste the authority's certificate, from BEGIN CERTIFICATE to END CERTIFICATE.",

	ownerFirst:     "Your job %s (%s) on %s ended %s. I'm looking at its logs, as %s, and will tell you here first.",
	ownerToo:       "This goes to the channel of your team now, as %s: it may concern others, too.",
	ownerOnly:      "This seems to concern your job alone, so I do not post it in the channel: it becomes one line of the next digest, as %s.",
	ownerNothing:   "I cannot say why job %s ended (%s): %s. If you know where its logs are, add `logs:/path` after the job.",
	ownerRepeat:    "Your job %s (%s) on %s ended %s. It has to do with job %s, which is %s in the channel of your team: the same array, the same job again, or a node that failed there. I do not look at it by itself unless you ask.",
	threadRepeats:  "*It came again*: %s ended badly after %s: the same job once more, a part of its array, or a job on one of the nodes above. I do not look at each by itself; ask for one and I do.",
	noteWatched:    "Nobody asked: the job ended %s at %s; it had run for %s.",
	digestHead:     "*Digest*: %s ended badly. I did not post them one by one: they concern only their owners, or there were too many.",
	digestMore:     "And %s more.",
	digestFoot:     "`%s` followed by one of these jobs shows it here.",
	digestPosted:   "The digest is in the channel.",
	digestNothing:  "There is nothing for the digest of this channel.",
	watchPaused:    "Watching of %s is paused, for all channels. What ends badly until `%s %s` is not looked at, then either.",
	watchResumed:   "Watching of %s goes on: from now on, not for what ended while it rested.",
	watchAllPaused: "But %s has paused watching of every cluster, and that still holds.",
	watchNotPaused: "Watching of %s is not paused by itself. `watch resume` without a name takes back a pause of everything.",
	watchRests:     "%s: paused by %s %s ago.",
	watchNever:     "%s: watched, not asked yet.",
	watchFails:     "%s: for %s it has not said which jobs ended: %s. Nothing is lost: I ask for all of that time when it answers.",
	watchWorks:     "%s: watched, asked %s ago.",
	watchNothing:   "Nothing is watched for this channel. An administrator can configure a watch.",
	watchDigest:    "%s wait for the digest; `%s digest` shows them now.",
	watchMuted:     "Muted: jobs with the name %s, by %s.",
	malformedWatch: "%s is none of `status`, `pause` and `resume`; each takes an optional cluster name.",
	notWatched:     "The cluster %s is not watched.",
	adminsOnly:     "You cannot %s: only administrators can. The attempt is logged.",
	setupOff:       "A channel cannot set where its logs are: no cluster here can be asked about its jobs, so nothing could be tried.",
	setupWhat:      "Name a job that has ended and what its logs are called, as SLURM writes it: %s. I try it at once.",
	setupWhich:     "On which job shall I try that? Name one that has ended: %s.",
	setupWrong:     "I cannot use that: %s.",
	setupFailed:    "I could not try that on job %s on %s: %s.",
	setupTried:     "With what you gave, of job %s on %s:",
	setupSaved:     "*Saved for this channel.* From now on I look for logs on %s there, too: after what the job's own script says, before what the configuration says. `%s setup show` shows it.",
	setupUnproven:  "*Not saved*, for not all of it was found. Change it with `%s setup`, or save it as it is.",
	setupAnyway:    "Saved for this channel as it is: where it finds nothing, logs on %s are looked for as before. `%s setup show` shows it.",
	setupStale:     "That is not what you tried last. `%s setup` tries it again.",
	setupIs:        "On %s: %s, set by %s on %s (UTC); %s.",
	setupOrder:     "I look there after the path that somebody names and what a job's own script says, and before what the configuration says. `%[1]s setup` changes it, `%[1]s setup clear` takes it back.",
	setupNone:      "This channel has set nothing: I look where a job's own script says, and where the configuration says. `%s setup` sets it.",
	setupCleared:   "Taken back for this channel: logs on %s are looked for as before.",
	muteWhat:       "Which name? Write `%s mute job-name train-7b`, as `squeue` shows it.",
	nameMuted:      "Jobs with the name %s are not told here any more. `%s unmute job-name %s` takes it back.",
	nameUnmuted:    "Jobs with the name %s are told here again.",
	nameNotMuted:   "The name %s is not muted here.",
	mutedTooMany:   "%d names are muted here already. Ask an administrator to exclude names in the configuration.",

	threadReminder:   "%s, this is still open: %s",
	threadFailed:     "%s, I could not finish: %s. *Try again* starts over; other logs may help.",
	threadCancelled:  "Cancelled by %s. Nothing more is read. Logs that arrive later open the case again.",
	threadHolding:    "That was my limit of %d updates an hour that nobody asked for. The case at the top of this thread stays up to date; the newest of what I hold back follows later.",
	threadExpired:    "%s, no logs arrived in time, so I stopped. Send logs whenever you have them: I continue from here.",
	threadFixClaimed: "%s named job %s as the run with the fix (%s). When its report is ready, I compare it with this one.",
	threadDisputed:   "%s disputes this verdict. The advice above stays for reference; both opinions are listed here.",
	threadActing:     "%s: you may have acted on it.",
	noteClosed:       "Closed: %s.",
	threadUpheld:     "%s withdrew the dispute. The verdict stands.",
	threadClosed:     "Closed by %s: the verdict was %s.",
	threadClosedAuto: "Closed automatically after a quiet week.",
	threadNoFailure:  "I read these logs as I would read those of a failure, and nothing failed. If you saw it fail, press *Run again* or add the missing logs.",
	threadNoEnd:      "No failure found, but the end of the job is not in these logs. If it hangs, don't cancel it yet: `bot collect` shows who holds it. If it failed, add the missing logs.",
	threadRunning:    "The job still runs. When it ends, I look again and post the report here.",
	threadLook:       "*First look*: the logs are large; so far I read the beginning and end of each. I'm reading the rest and will post what changes.",
	threadFiles:      "The earlier files and archive are superseded by those that follow.",
	askedUntil:       "I wait until %s. Later logs still count.",
	askedAnswered:    "Answered by %s.",
	askedArrived:     "Logs arrived; continuing.",
	askedEnded:       "The job ended; continuing.",
	askedExpired:     "No answer in time.",
	askedNeedless:    "No longer needed.",
	askedWithout:     "%s does not have it.",
}

// say fills the words of a situation.
func say(s situation, args ...any) string { return fill(marked(texts[s]), args...) }

// Reasons of refusals, for the audit trail.
const (
	refusedExternal = "a person of another organisation"
	refusedDirect   = "direct messages are off"
	refusedChannel  = "the channel is connected to no cluster"
	refusedShared   = "people of another organisation are in the channel"
	refusedReadOnly = "the channel is read-only"
	refusedCluster  = "the cluster is not for this channel"
	refusedPath     = "a path outside the folders of the channel"
	refusedPerson   = "neither the person who asked nor a trusted one"
	refusedAdmin    = "not an administrator"
	refusedCase     = "an investigation of another channel"
)
