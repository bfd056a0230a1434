package messages

import (
	"slices"
	"strings"
	"unicode/utf8"

	"faultline/knowledge"
	"faultline/messages/blockkit"
)

// modal puts a view together. Titles have 24 characters at most.
func modal(callback, private, title, submit string, groups ...blockkit.Blocks) blockkit.View {
	v := blockkit.View{CallbackID: callback, PrivateMetadata: private, Title: blockkit.Plain(title), Close: blockkit.Plain("Cancel")}
	if submit != "" {
		v.Submit = blockkit.Plain(submit)
	} else {
		v.Close = blockkit.Plain("Close")
	}
	for _, g := range groups {
		v.Blocks = append(v.Blocks, g...)
	}
	v, _ = blockkit.FitView(v) // what it leaves out, it says in the view
	return v
}

// ask is one field of a modal: the block_id is its name.
func ask(name, label, hint string, optional bool, e blockkit.Element) blockkit.Blocks {
	in := blockkit.Input{BlockID: name, Label: blockkit.Plain(label), Element: e, Optional: optional}
	if hint != "" {
		in.Hint = blockkit.Plain(hint)
	}
	return blockkit.Blocks{in}
}

// trouble says what was wrong with the last try.
func trouble(problem string) blockkit.Blocks {
	if problem == "" {
		return nil
	}
	return rich(para(strong("⚠️ " + sentence(line(problem)))))
}

func says(s string) blockkit.Blocks { return rich(para(run(s))) }

func option(text, value string) blockkit.Option {
	return blockkit.Option{Text: blockkit.Plain(blockkit.Clip(text, 75)), Value: value}
}

// choices are options whose text is their value. A value that Slack would not take is left out: cut, it would name
// something else; the view says how many those are.
func choices(values []string) []blockkit.Option {
	var out []blockkit.Option
	for _, s := range values {
		out = append(out, option(line(s), s))
	}
	return out
}

func menu(placeholder string, options []blockkit.Option) blockkit.StaticSelect {
	return blockkit.StaticSelect{ActionID: FieldValue, Placeholder: blockkit.Plain(placeholder), Options: options}
}

// StartView asks for a job: typed, or one of the person's failed ones. private comes back unseen with the answer;
// problem says why the last try was refused.
func StartView(private string, clusters []string, jobs []RecentJob, problem string) blockkit.View {
	groups := []blockkit.Blocks{trouble(problem)}
	var recent []blockkit.Option
	for _, j := range jobs {
		value := j.ID
		if j.Cluster != "" {
			value = j.Cluster + ":" + j.ID
		}
		o := option(recentText(j), value)
		recent = append(recent, o)
	}
	if len(recent) > 0 {
		groups = append(groups, ask(FieldRecent, "Your jobs that failed", "", true, menu("Choose a job", recent)))
	}
	hint := "As shown by squeue or sacct: 12345, 12345_7 for an array task, 12345+0 for a het job component."
	label := "Job ID"
	if len(recent) > 0 {
		label = "Or another job ID"
	}
	groups = append(groups, ask(FieldJob, label, hint, len(recent) > 0, blockkit.PlainTextInput{ActionID: FieldValue, Placeholder: blockkit.Plain("12345"), MaxLength: 200}))
	if len(clusters) > 1 {
		groups = append(groups, ask(FieldCluster, "Cluster", "Leave empty to search all clusters.", true, menu("All clusters", choices(clusters))))
	}
	return modal(ViewStart, private, "Diagnose a job", "Diagnose", groups...)
}

// SetupView asks what a team's logs are called, and for a job to try it on. templates and job are there already.
func SetupView(private string, clusters, templates []string, job string) blockkit.View {
	var names []string
	for _, t := range templates {
		names = append(names, line(t))
	}
	groups := []blockkit.Blocks{
		says("Where do your team's jobs write their logs? I'll try the pattern on a finished job. If it finds all of that job's logs, I'll save it for this channel."),
		ask(FieldTemplates, "Log file patterns, one per line", "As in srun --error: %j job ID, %n node number, %N node name, %t task, %x job name, %u user. Also {user}, {account}, {workdir}. "+
			"Relative to the folders I can read, or absolute.", false,
			blockkit.PlainTextInput{ActionID: FieldValue, Multiline: true, MaxLength: 2000, Placeholder: blockkit.Plain("{user}/logs/error-%j-%n.err"), InitialValue: blockkit.Clip(strings.Join(names, "\n"), 2000)}),
		ask(FieldJob, "Test it on job", "A finished job. Leave empty for this channel's most recent one.", true,
			blockkit.PlainTextInput{ActionID: FieldValue, MaxLength: 200, Placeholder: blockkit.Plain("12345"), InitialValue: blockkit.Clip(line(job), 200)}),
	}
	if len(clusters) > 1 {
		groups = append(groups, ask(FieldCluster, "Cluster", "", true, menu("For example: "+blockkit.Clip(line(clusters[0]), 40), choices(clusters))))
	}
	return modal(ViewSetup, private, "Log locations", "Test it", groups...)
}

// recentText is "FAILED 12345 llama-7b, 2 hours ago".
func recentText(j RecentJob) string {
	t := strings.TrimSpace(line(j.State) + " " + line(j.ID))
	if j.Name != "" {
		t += " " + line(j.Name)
	}
	if j.Cluster != "" {
		t += " on " + line(j.Cluster)
	}
	if j.Ended != "" {
		t += ", " + line(j.Ended)
	}
	return t
}

// AISView asks for access to the storage cluster: one of the configured names or, where typed is true, an address with a token. why
// are the reasons for asking; problem holds what was wrong with a field, by the field's name.
func AISView(private string, clusters []string, typed bool, why []string, problem map[string]string) blockkit.View {
	groups := []blockkit.Blocks{
		says("The storage logs show whether reads of the training data failed or stalled. I only need read access."),
		rich(bullets(why)...),
	}
	field := func(name, label, hint string, e blockkit.Element) {
		groups = append(groups, trouble(problem[name]), ask(name, label, hint, true, e))
	}
	if len(clusters) > 0 {
		field(FieldProfile, "A storage cluster this bot knows", "Recommended: you don't have to type a token.", menu("Choose a cluster", choices(clusters)))
		groups = append(groups, blockkit.Blocks{blockkit.Divider{}})
	}
	if !typed {
		return untypedAIS(private, len(clusters) > 0, groups)
	}
	if len(clusters) > 0 {
		groups = append(groups, says("Not in the list?"))
	}
	field(FieldEndpoint, "Storage cluster URL", "The AIStore gateway (proxy), as in your job's AIS_ENDPOINT.",
		blockkit.URLTextInput{ActionID: FieldValue, Placeholder: blockkit.Plain("https://ais-gateway.example.org:51080")})
	field(FieldToken, "Token", "What you type shows on your screen and passes through Slack. I keep it only in memory and wipe it after use. "+
		"Use a read-only, short-lived token. Leave empty if the cluster needs none.", blockkit.PlainTextInput{ActionID: FieldValue, MaxLength: 3000})
	checks := []blockkit.Option{
		option("Verify the certificate (default)", TLSVerify),
		option("Verify it with the CA pasted below", TLSAuthority),
		option("Don't verify: others on the network could read the token", TLSSkip),
	}
	field(FieldTLS, "TLS certificate", "", blockkit.RadioButtons{ActionID: FieldValue, Options: checks, InitialOption: &checks[0]})
	field(FieldCA, "CA certificate", "Everything from BEGIN CERTIFICATE to END CERTIFICATE, including both lines. It's not a secret.",
		blockkit.PlainTextInput{ActionID: FieldValue, Multiline: true, MaxLength: 3000})
	for _, name := range sortedFields(problem) {
		if !slices.Contains([]string{FieldProfile, FieldEndpoint, FieldToken, FieldTLS, FieldCA}, name) {
			groups = append([]blockkit.Blocks{trouble(problem[name])}, groups...) // of no field: above all
		}
	}
	return modal(ViewAIS, private, "Storage logs", "Give access", groups...)
}

// untypedAIS says that no address can be typed, before anybody tries: a configured cluster or an upload is left.
func untypedAIS(private string, configured bool, groups []blockkit.Blocks) blockkit.View {
	text, submit := "I can't pull storage logs: no storage cluster is configured, and no address can be typed here. Upload the logs instead, or ask the bot's administrator to list the cluster's host under storage_access.allow.", ""
	if configured {
		text, submit = "Not in the list? No other address can be typed here. Upload the logs instead, or ask the bot's administrator to list the cluster's host under storage_access.allow.", "Give access"
	}
	return modal(ViewAIS, private, "Storage logs", submit, append(groups, says(text))...)
}

// UploadView takes files. what says which.
func UploadView(private, what string) blockkit.View {
	if what == "" {
		what = "Job logs"
	}
	return modal(ViewUpload, private, "Upload logs", "Send", says(sentence(line(what))),
		ask(FieldFiles, "Up to ten files", "Text files or archives (tar, tar.gz, zip). Keep the file names: they may show which node wrote the log.", false,
			blockkit.FileInput{ActionID: FieldValue, MaxFiles: 10}))
}

// causes is the choice of a true cause: titles of mechanisms by slug, then "other". No slug means all that break a job.
func causes(slugs []string) blockkit.StaticSelect {
	if len(slugs) == 0 {
		for _, m := range knowledge.Mechanisms() {
			if m.Origin != "none" {
				slugs = append(slugs, string(m.Slug))
			}
		}
	}
	const most = 99 // Slack's 100, one of them for "other"
	slugs = slugs[:min(len(slugs), most)]
	var opts []blockkit.Option
	for _, s := range slugs {
		if s != OtherCause {
			opts = append(opts, option(capital(mechanismTitle(line(s))), s))
		}
	}
	return menu("Choose a cause", append(opts, option("Something else, or unknown", OtherCause)))
}

const causeHint = "In your own words. Don't paste secrets; anything that looks like one is masked."

// DisputeView asks what is wrong with a verdict. mechanisms are slugs; none means all.
func DisputeView(private string, mechanisms []string) blockkit.View {
	return modal(ViewDispute, private, "Wrong diagnosis", "Submit",
		says("The verdict and its advice stay visible, marked as disputed, with your reason. New evidence can change the verdict: upload a file at any time."),
		ask(FieldCause, "What was the actual cause?", "", false, causes(mechanisms)),
		ask(FieldText, "How do you know?", causeHint, true, blockkit.PlainTextInput{ActionID: FieldValue, Multiline: true, MaxLength: 3000}))
}

// CloseView asks how it ended: was the verdict (headline) right, what was the true cause, what fixed it, and whether the
// case may become a test case. mechanisms are slugs; none means all.
func CloseView(private, headline string, mechanisms []string) blockkit.View {
	verdicts := []blockkit.Option{option("Right", VerdictRight), option("Wrong", VerdictWrong), option("Unknown", VerdictUnknown)}
	text := "There was no verdict."
	if headline != "" {
		text = "The verdict was: " + line(headline)
	}
	return modal(ViewClose, private, "Close the case", "Close",
		says(text),
		ask(FieldVerdict, "Was it right?", "", false, blockkit.RadioButtons{ActionID: FieldValue, Options: verdicts}),
		ask(FieldCause, "If not, what was the actual cause?", "", true, causes(mechanisms)),
		ask(FieldText, "Actual cause, in your words", causeHint, true, blockkit.PlainTextInput{ActionID: FieldValue, Multiline: true, MaxLength: 3000}),
		ask(FieldFix, "What fixed it?", "This is shown to the next person who hits this failure.", true,
			blockkit.PlainTextInput{ActionID: FieldValue, Multiline: true, MaxLength: 3000}),
		ask(FieldConsent, "Share it as a test case?", "", true, blockkit.Checkboxes{ActionID: FieldValue, Options: []blockkit.Option{
			option("This case may be used as a test case, with names and secrets masked", ConsentYes)}}))
}

// LoadingView is there at once, until the real one is ready.
func LoadingView(title string) blockkit.View {
	title = flat(safe(title))
	if title == "" || utf8.RuneCountInString(title) > 24 {
		title = "One moment"
	}
	return modal(ViewLoading, "", title, "", says("One moment …"))
}
