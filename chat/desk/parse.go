package desk

import (
	"strings"

	"faultline/pattern"
)

// order is what a person typed, understood.
type order struct {
	verb       string   // "diagnose", "start" (nothing was typed), "help", "status", …, "" (not understood)
	id         string   // an investigation, "F-12"
	job        string   // "12345", "12345_7", "12345+0"
	cluster    string   // "" where none was named
	places     []string // of logs:
	private    bool
	watch      bool   // the job is to be watched while it runs
	anyway     bool   // a case is wanted also of a job that no cluster has; a button says so, never a text
	rest       string // free words: the reason of a dispute, what was done as a fix
	run        string // the job that has a fix, with its cluster
	runCluster string
	bad        string // what was not understood
}

// verbs that take words behind them; the others are refused with words behind them that mean nothing to them.
var verbs = map[string]string{
	"diagnose": "diagnose", "help": "help", "?": "help", "status": "status", "list": "list", "cancel": "cancel", "stop": "cancel",
	"rerun": "rerun", "re-run": "rerun", "again": "rerun", "mute": "mute", "own": "own", "ping": "ping", "why": "why", "why?": "why",
	"close": "close", "dispute": "dispute", "wrong": "dispute", "logs": "logs", "explain": "explain",
	"watch": "watch", "digest": "digest", "setup": "setup", "unmute": "unmute", "storage": "storage", "fixed": "fixed", "fixes": "fixes", "work": "work", "checklist": "checklist", "isolate": "isolate", "repro": "repro", "postmortem": "postmortem", "post-mortem": "postmortem",
}

// jobName announces that the name of a job follows, and not an investigation.
var jobName = map[string]bool{"job-name": true, "jobname": true, "name": true}

var (
	// A job, an element of an array (_7) or several as SLURM writes them (_[1-4,8]), a part of a heterogeneous job (+0); a
	// step (.0, .batch) is forgiven. Longer numbers than SLURM has are none.
	jobForm = pattern.New(`^([1-9][0-9]{0,9}(?:_(?:[0-9]{1,7}|\[[0-9,%:-]{1,100}\])|\+[0-9]{1,3})?)(?:\.(?:[0-9]{1,10}|batch|extern|interactive))?$`)
	idForm  = pattern.New(`^[Ff]-([0-9]{1,12})$`)
	// A link as the chat writes it: <https://x/12345|12345>, <https://x>, <#C12|name>.
	linkForm    = pattern.New(`<([^<>|]*)(?:\|([^<>]*))?>`)
	clusterForm = pattern.New(`^[A-Za-z][A-Za-z0-9._-]{0,63}$`)
)

const (
	maxTyped = 4000 // bytes of a command that are looked at; Slack allows no more either
	maxShown = 80   // characters of what was typed that an answer repeats
)

// parse reads the words of a slash command or, with thread set, of a mention, where words alone are never a job by
// accident.
func parse(text string) order {
	if len(text) > maxTyped {
		text = text[:maxTyped]
	}
	words := split(unlink(text))
	if len(words) == 0 {
		return order{verb: "start"}
	}
	o, verb := order{verb: "diagnose"}, words[0]
	if v, ok := verbs[strings.ToLower(strings.Trim(words[0], "`*_~,;!"))]; ok {
		o.verb, words = v, words[1:]
	} else if slash, ok := verbs[strings.ToLower(strings.TrimPrefix(words[0], "/"))]; ok && slash == "diagnose" {
		words = words[1:] // "/diagnose 12345" behind a mention
	}
	if o.verb == "explain" { // the text as it is: its lines and quotation marks belong to it
		_, o.rest, _ = strings.Cut(text, verb)
		o.rest = strings.Trim(o.rest, " \t\r\n`")
		return o
	}
	if o.verb == "diagnose" && len(words) == 0 {
		return order{verb: "start"}
	}
	if o.verb == "watch" || o.verb == "digest" || o.verb == "setup" {
		o.rest = strings.Join(words, " ")
		return o
	}
	if o.verb == "unmute" || o.verb == "mute" && len(words) > 0 && jobName[strings.ToLower(words[0])] {
		if o.verb == "mute" {
			o.verb = "mute-name"
		}
		if len(words) > 0 && jobName[strings.ToLower(words[0])] {
			words = words[1:]
		}
		o.rest = strings.Trim(strings.Join(words, " "), "`")
		return o
	}
	if o.verb == "fixed" {
		if len(words) > 0 && o.identify(words[0]) {
			words = words[1:]
		}
		if len(words) > 0 && o.name(words[0]) {
			words = words[1:]
			o.run, o.runCluster, o.job, o.cluster = o.job, o.cluster, "", ""
		}
		o.rest = strings.Trim(strings.Join(words, " "), "\"“”")
		return o
	}
	if o.verb == "isolate" {
		_, o.rest, _ = strings.Cut(unlink(text), verb) // as it is: quotation marks belong to a command
		if len(words) > 0 && o.identify(words[0]) {
			_, o.rest, _ = strings.Cut(o.rest, words[0])
		}
		o.rest = strings.Join(strings.Fields(strings.Trim(strings.TrimSpace(o.rest), "`")), " ")
		return o
	}
	if o.verb == "work" || o.verb == "checklist" {
		_, rest, _ := strings.Cut(text, verb) // as it is: the chat writes people as links
		list := strings.Fields(rest)
		if len(list) > 0 && o.identify(list[0]) {
			list = list[1:]
		}
		o.rest = strings.Join(list, " ")
		return o
	}
	if o.verb == "dispute" || o.verb == "close" {
		if len(words) > 0 && o.identify(words[0]) {
			words = words[1:]
		}
		o.rest = strings.Join(words, " ")
		return o
	}
	named := false // "job", "logs" announced what follows
	for _, word := range words {
		bare := strings.Trim(word, "`'\"*~,;()[]{}“”‘’<>")
		if strings.Contains(bare, "_[") && !strings.Contains(bare, "]") { // 123_[1-4]: that bracket belongs to the word
			bare += "]"
		}
		switch lower := strings.ToLower(bare); {
		case bare == "":
		case lower == "private" || lower == "privately" || lower == "--private":
			o.private = true
		case lower == "job" || lower == "jobid" || lower == "id" || lower == "please":
			named = true
		case len(lower) > 5 && strings.HasPrefix(lower, "logs:"):
			o.places = append(o.places, bare[5:])
		case (o.verb == "logs" || o.verb == "diagnose" && o.job != "") && strings.HasPrefix(bare, "/"):
			o.places = append(o.places, bare)
		case o.verb != "diagnose" && o.verb != "logs" && o.id == "" && o.identify(bare):
		case o.verb != "logs" && o.job == "" && o.name(bare):
		default:
			if o.bad == "" {
				o.bad = bare
			}
		}
	}
	if o.verb == "diagnose" && o.bad == "" && o.job == "" && len(o.places) == 0 {
		if named || !o.private {
			o.bad = strings.TrimSpace(text)
		} else {
			o.verb = "start"
		}
	}
	return o
}

// identify reads the id of an investigation.
func (o *order) identify(word string) bool {
	m := idForm.FindStringSubmatch(strings.Trim(word, "`#,;.:()[]"))
	if m != nil {
		o.id = "F-" + m[1]
	}
	return m != nil
}

// name reads a job, with or without its cluster in front.
func (o *order) name(word string) bool {
	word = strings.TrimRight(strings.TrimLeft(word, "#"), ".:!?")
	cluster := ""
	if before, after, ok := strings.Cut(word, ":"); ok && clusterForm.MatchString(before) {
		if l := strings.ToLower(before); l != "job" && l != "jobid" && l != "id" {
			cluster = before
		}
		word = strings.TrimLeft(after, "#")
	} else if before, after, ok := strings.Cut(word, "="); ok && strings.HasPrefix(strings.ToLower(before), "job") {
		word = after
	}
	m := jobForm.FindStringSubmatch(word)
	if m != nil {
		o.job, o.cluster = m[1], cluster
	}
	return m != nil
}

// unlink puts in the place of a link what a person sees of it.
func unlink(s string) string {
	return linkForm.ReplaceAllStringFunc(s, func(link string) string {
		m := linkForm.FindStringSubmatch(link)
		if m[2] != "" {
			return m[2]
		}
		if strings.HasPrefix(m[1], "@") { // a mention, the bot's own most of the time
			return " "
		}
		return m[1]
	})
}

// split cuts at white space; quotation marks hold words together.
func split(s string) []string {
	var words []string
	var word strings.Builder
	quote := rune(0)
	end := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
		}
		word.Reset()
	}
	for _, r := range s {
		switch {
		case quote == 0 && (r == '"' || r == '“'):
			quote = r
		case quote != 0 && (r == '"' || r == '”'):
			quote = 0
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '\u00a0'):
			end()
		default:
			word.WriteRune(r)
		}
	}
	end()
	return words
}

// shown shortens what a person typed, for an answer that repeats it.
func shown(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > maxShown {
		return string(r[:maxShown-1]) + "…"
	}
	return string(r)
}
