package knowledge

import (
	"strings"

	"faultline/pattern"
)

// How commands of an advice begin that run on the node at fault, and on all nodes of the job.
const (
	onNode  = "ssh {node} "
	onNodes = "clush -w {nodes} "
)

// onlyRead lists the programs that change nothing on a node and take nothing from its jobs, with the arguments for which that holds;
// nil: with any. What is not here is taken to do harm: a reset of a GPU and a test that occupies it look like any other command.
var onlyRead = map[string]*pattern.Regexp{
	"cat": nil, "df": nil, "du": nil, "echo": nil, "findmnt": nil, "free": nil, "getent": nil, "grep": nil, "head": nil, "id": nil, "ls": nil, "lscpu": nil, "lspci": nil,
	"modinfo": nil, "ps": nil, "pwd": nil, "stat": nil, "tail": nil, "uptime": nil, "wc": nil, "which": nil,
	"hl-smi": nothing, "ibstat": nil, "ibv_devinfo": nil, "neuron-ls": nil,
	"for": nil, "done": nothing, // what stands between them is looked at as well
	"env": nothing, "mount": nothing, // with more they start, or mount
	"curl":                 pattern.New(`^-sS(?:I -m \d+ | -o /dev/null -w "%\{http_code\})`), // not the object itself
	"date":                 pattern.New(`^\+\S+$`),
	"dmesg":                pattern.New(`^(?:-T)?$`), // -C clears it
	"docker":               pattern.New(`^info$`),
	"fi_info":              pattern.New(`^-l$`),
	"hccn_tool":            pattern.New(` -g$`),
	"hostname":             pattern.New(`^(?:-i)?$`),
	"ip":                   pattern.New(`^(?:-br )?(?:addr|link|route get \S+)$`),
	"ipmitool":             pattern.New(`^(?:sdr|sel list)$`),
	"journalctl":           pattern.New(`^(?:(?:-[kut]|--since) ?)+(?:\S| ago)*$`),
	"ldconfig":             pattern.New(`^-p$`),
	"lfs":                  pattern.New(`^(?:check|quota|df) `),
	"nc":                   pattern.New(`^-\w*z`), // connects, and sends nothing
	"nft":                  pattern.New(`^list `),
	"npu-smi":              pattern.New(`^info\b`),
	"nvidia-container-cli": pattern.New(`^info$`),
	"nvidia-smi":           pattern.New(`^(?:-L|-q.*|--query-\S+.*|topo -m|nvlink -[se]|pmon -c 1)?$`),
	"perfquery":            pattern.New(`^(?:-C \S+ )?-x$`), // -R sets counters to zero
	"ping":                 pattern.New(`^-c \d `),
	"ras-mc-ctl":           pattern.New(`^--summary$`),
	"rdma":                 pattern.New(`^(?:link|statistic) show$`),
	"rocm-smi":             pattern.New(`^(?:--show\w+(?: \w+)?)?$`),
	"ss":                   pattern.New(`^-[ltnp]+$`), // -K kills
	"sysctl":               pattern.New(`^[\w.]+$`),
	"systemctl":            pattern.New(`^status `),
	"vmstat":               pattern.New(`^\d \d$`),
	"xpu-smi":              pattern.New(`^ps$`),
}

var nothing = pattern.New(`^$`)

// asks is how commands begin that name a node and leave it as it is: questions to the scheduler, and what runs only once the scheduler
// has given it the node.
var asks = pattern.New(`^(?:ping|bot isolate|srun|sacct|sinfo|scontrol show|kubectl (?:describe|get)) `)

// Harmless tells whether a command may name a node that is not proven to be at fault: it looks, and changes nothing.
func (a Advice) Harmless() bool {
	for _, part := range commands(a.Command) {
		remote, ssh := strings.CutPrefix(part, onNode)
		if !ssh {
			remote, ssh = strings.CutPrefix(part, onNodes)
		}
		switch named := strings.Contains(part, "{node}") || strings.Contains(part, "{nodes}"); {
		case ssh && !onlyReads(unquoted(remote)), !ssh && named && !asks.MatchString(part):
			return false
		}
	}
	return true
}

// OnEveryNode returns the advice for all nodes of the job, where it is not known which of them is at fault; unchanged where it would do harm.
func (a Advice) OnEveryNode() Advice {
	if !a.Harmless() {
		return a
	}
	return Advice{Text: strings.ReplaceAll(a.Text, "{node}", "the nodes"), Command: strings.ReplaceAll(a.Command, onNode, onNodes)}
}

// unquoted is a command as the shell of the node gets it.
func unquoted(s string) string {
	if q := s[:min(1, len(s))]; q == "'" || q == `"` {
		if inside, rest, ok := strings.Cut(s[1:], q); ok && strings.TrimSpace(rest) == "" {
			return inside
		}
	}
	s, _, _ = strings.Cut(s, " > ") // a file where the command is typed
	return s
}

// onlyReads tells whether a line of the shell does nothing but look.
func onlyReads(line string) bool {
	parts, ok := simple(line)
	if !ok {
		return false
	}
	for _, part := range parts {
		part = strings.TrimPrefix(strings.TrimSpace(part), "do ")
		program, arguments, _ := strings.Cut(part, " ")
		if program == "timeout" {
			_, part, _ = strings.Cut(arguments, " ")
			program, arguments, _ = strings.Cut(part, " ")
		}
		allowed, known := onlyRead[program]
		if !known || allowed != nil && !allowed.MatchString(strings.TrimSpace(arguments)) {
			return false
		}
	}
	return true
}

// simple are the commands of a line of the shell; false where it has more to it than pipes and lists of commands: it writes files, runs
// what another command prints, or loops.
func simple(line string) (parts []string, ok bool) {
	quote, start := byte(0), 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '`', c == '>', c == '<', c == '\n', c == '$' && strings.HasPrefix(line[i:], "$("):
			if quote != '\'' {
				return nil, false
			}
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ';' || c == '|' || c == '&':
			if i > start {
				parts = append(parts, line[start:i])
			}
			start = i + 1
		}
	}
	if strings.TrimSpace(line[start:]) != "" {
		parts = append(parts, line[start:])
	}
	return parts, quote == 0
}
