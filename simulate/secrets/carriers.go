package secrets

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// carrier is a place in which a secret is printed. NAME, name and Name stand for the setting, VALUE for the secret.
type carrier struct {
	name, format string
	url          bool // the value is part of a URL
	shell        bool
	bare         bool // nothing but the secret tells that it is one
	encodes      func(string) string
}

func (c carrier) fill(setting, value string) string {
	if c.encodes != nil {
		value = c.encodes(value)
	}
	lower := strings.ToLower(setting)
	return strings.NewReplacer("NAME", strings.ToUpper(setting), "name", lower, "Na-me", strings.ReplaceAll(lower, "_", "-"),
		"nAme", camel(lower), "VALUE", value).Replace(c.format)
}

func camel(s string) string {
	w := strings.Split(s, "_")
	for i := 1; i < len(w); i++ {
		if w[i] != "" {
			w[i] = strings.ToUpper(w[i][:1]) + w[i][1:]
		}
	}
	return strings.Join(w, "")
}

// bareCarriers leave the secret to speak for itself.
var bareCarriers = []carrier{
	{name: "a log line", format: "2026-03-04 11:02:03,123 INFO connecting with VALUE to the tracker", bare: true},
	{name: "a line alone", format: "VALUE", bare: true},
	{name: "a Python exception", format: "ValueError: invalid credentials: 'VALUE'", bare: true},
	{name: "a list", format: "args: ['train.py', 'VALUE', '--lr', '0.1']", bare: true},
	{name: "a shell trace", format: "+ login VALUE", bare: true},
	{name: "brackets", format: "client(VALUE) failed with 401", bare: true},
	{name: "a rank's prefix", format: "[rank3]: got VALUE from the store", bare: true},
	{name: "a path", format: "GET /v1/hooks/VALUE 404", bare: true, url: true},
}

// carriers say by a name, a header or a flag that a secret comes.
var carriers = []carrier{
	{name: "the environment", format: "NAME=VALUE"},
	{name: "export", format: `export NAME="VALUE"`},
	{name: "declare", format: `declare -x NAME="VALUE"`},
	{name: "a shell trace of export", format: "+ export NAME=VALUE"},
	{name: "os.environ", format: "environ({'HOME': '/root', 'NAME': 'VALUE', 'PATH': '/bin'})"},
	{name: "YAML", format: "name: VALUE"},
	{name: "YAML, indented", format: "    name: \"VALUE\""},
	{name: "JSON", format: `{"lr": 0.1, "name": "VALUE", "seed": 3}`},
	{name: "escaped JSON", format: `{\"name\": \"VALUE\"}`},
	{name: "camel case JSON", format: `{"nAme":"VALUE"}`},
	{name: "a Python dict", format: "{'name': 'VALUE', 'lr': 0.1}"},
	{name: "a namespace", format: "Namespace(lr=0.1, name='VALUE', seed=3)"},
	{name: "a dataclass", format: "Config(name='VALUE')"},
	{name: "TOML", format: `name = "VALUE"`},
	{name: "an override", format: "+logger.tracker.name=VALUE"},
	{name: "a table", format: "| name | VALUE |"},
	{name: "an arrow", format: "name -> VALUE"},
	{name: "a hash rocket", format: ":name => 'VALUE'"},
	{name: "a walrus", format: "name := VALUE"},
	{name: "a tuple", format: "('name', 'VALUE')"},
	{name: "XML", format: "<name>VALUE</name>"},
	{name: "an XML attribute", format: `<add key="name" value="VALUE"/>`},
	{name: "a list of settings", format: `[{"env": "NAME", "value": "VALUE"}]`},
	{name: "a flag", format: "python train.py --Na-me VALUE --lr 0.1"},
	{name: "a flag with =", format: "python train.py --Na-me=VALUE --lr 0.1"},
	{name: "a flag in a list", format: "['train.py', '--Na-me', 'VALUE', '--lr', '0.1']"},
	{name: "--set", format: "helm install x --set worker.nAme=VALUE"},
	{name: "a bearer header", format: "Authorization: Bearer VALUE"},
	{name: "a bearer header in a dict", format: "{'Authorization': 'Bearer VALUE', 'Accept': '*/*'}"},
	{name: "a token header", format: "> Authorization: token VALUE"},
	{name: "an API key header", format: "X-Api-Key: VALUE"},
	{name: "an auth token header", format: "curl -H 'X-Auth-Token: VALUE' host/v1"},
	{name: "a private token header", format: "PRIVATE-TOKEN: VALUE"},
	{name: "a cookie", format: "Cookie: theme=dark; sessionid=VALUE; lang=en"},
	{name: "a set cookie", format: "Set-Cookie: SID=VALUE; Path=/; HttpOnly"},
	{name: "curl -u", format: "curl -u robot:VALUE https://host/x", shell: true},
	{name: "basic", format: "Authorization: Basic VALUE", encodes: func(v string) string { return base64.StdEncoding.EncodeToString([]byte("robot:" + v)) }},
	{name: "user info", format: "git clone https://robot:VALUE@git.host/x.git", url: true},
	{name: "user info of a database", format: "postgresql://robot:VALUE@db:5432/runs", url: true},
	{name: "a query", format: "401 for url: https://host/v1?api_key=VALUE&limit=3", url: true},
	{name: "a query's token", format: "https://host/v1/x?limit=3&access_token=VALUE", url: true},
	{name: "a JDBC URL", format: "jdbc:postgresql://db/runs?user=robot&password=VALUE", url: true},
	{name: "a connection string", format: "Server=db;User Id=robot;Password=VALUE;Timeout=3"},
	{name: "libpq", format: `psql "host=db user=robot password=VALUE dbname=runs"`},
	{name: "docker login", format: "docker login -u robot -p VALUE registry.host", shell: true},
	{name: "from literal", format: "kubectl create secret generic x --from-literal=name=VALUE", shell: true},
	{name: "netrc", format: "machine api.host login robot password VALUE"},
	{name: "npmrc", format: "//registry.host/:_authToken=VALUE"},
	{name: "prose, is", format: "the name is VALUE now"},
	{name: "prose, token", format: "using access token VALUE for the hub"},
	{name: "prose, quoted", format: "login with password 'VALUE' failed"},
	{name: "prose, colon", format: "Your new API key: VALUE"},
	{name: "the next line", format: "name:\n  VALUE"},
	{name: "the next line, bare", format: "Enter name:\nVALUE"},
	{name: "the next line, quoted", format: "\"name\":\n    \"VALUE\","},
	{name: "a folded value", format: "name: >-\n  VALUE\nother: 3"},
	{name: "Spark", format: "spark.hadoop.fs.s3a.secret.key=VALUE"},
	{name: "an ini file", format: "[default]\nname = VALUE\nregion = x"},
	{name: "SQL", format: "CREATE USER robot IDENTIFIED BY 'VALUE'", shell: true},
}

// passwordCarriers are those of passwords only.
var passwordCarriers = []carrier{
	{name: "mysql -p", format: "mysql -u robot -pVALUE runs", shell: true},
	{name: "sshpass", format: "sshpass -p VALUE ssh robot@host", shell: true},
	{name: "redis-cli -a", format: "redis-cli -h host -a VALUE ping", shell: true},
	{name: "sudo -S", format: "echo VALUE | sudo -S mount /data", shell: true},
	{name: "password-stdin", format: "echo VALUE | docker login -u robot --password-stdin", shell: true},
	{name: "openssl", format: "openssl rsa -passin pass:VALUE -in key.pem", shell: true},
	{name: "smbclient", format: "smbclient //host/x -U robot%VALUE", shell: true},
	{name: "mount options", format: "mount -t cifs //host/x /x -o username=robot,password=VALUE", shell: true},
	{name: "ldapsearch", format: "ldapsearch -D cn=robot -w VALUE -b dc=x", shell: true},
	{name: "prose, German", format: "Das Passwort lautet: VALUE"},
	{name: "prose, was", format: "the password was VALUE"},
	{name: "prose, user and password", format: "user robot, password VALUE"},
	{name: "pgpass", format: "db.host:5432:runs:robot:VALUE"},
}

// encoding changes the secret, or the whole text around it.
type encoding struct {
	name   string
	value  func(string, *rand.Rand) string
	text   func(string) string
	opaque bool
	// visible is what a reader sees of an encoded value.
	visible func(string) string
}

func (e encoding) seen(s string) string {
	if e.visible == nil {
		return s
	}
	return e.visible(s)
}

var encodings = []encoding{
	{name: "plain"},
	{name: "base64 of the text", text: func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }, opaque: true},
	{name: "URL-safe base64 of the text", text: func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }, opaque: true},
	{name: "percent-encoded text", text: url.QueryEscape},
	{name: "percent-encoded bytes", value: func(s string, _ *rand.Rand) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
		return b.String()
	}},
	{name: "base64 of the secret", value: func(s string, _ *rand.Rand) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{name: "JSON in JSON", text: func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}, visible: func(s string) string { return strings.Trim(s, `"`) }},
	{name: "escaped code points", value: func(s string, _ *rand.Rand) string {
		var b strings.Builder
		for i := range len(s) {
			if i%4 == 1 {
				fmt.Fprintf(&b, `\u%04x`, s[i])
			} else {
				b.WriteByte(s[i])
			}
		}
		return b.String()
	}},
	{name: "zero-width spaces", value: func(s string, r *rand.Rand) string { return inside(s, "\u200b", r) }},
	{name: "zero-width joiners", value: func(s string, r *rand.Rand) string { return inside(s, "\u200d", r) }},
	{name: "soft hyphens", value: func(s string, r *rand.Rand) string { return inside(s, "\u00ad", r) }},
	{name: "full-width letters", value: func(s string, _ *rand.Rand) string {
		return strings.Map(func(r rune) rune {
			if r > ' ' && r < 0x7f {
				return r + 0xfee0
			}
			return r
		}, s)
	}},
	{name: "HTML entities", text: func(s string) string {
		return strings.NewReplacer("&", "&amp;", `"`, "&quot;", "'", "&#39;", "=", "&#61;", "<", "&lt;", ">", "&gt;").Replace(s)
	}},
}

func inside(s, what string, r *rand.Rand) string {
	i := 1 + r.IntN(len(s)-1)
	return s[:i] + what + s[i:]
}

// wrapping is what is around the text, or breaks it.
type wrapping struct {
	name  string
	apply func(text, secret string, r *rand.Rand) string
}

var wrappings = []wrapping{
	{"one line", func(t, _ string, _ *rand.Rand) string { return t }},
	{"a log's prefix", func(t, _ string, _ *rand.Rand) string {
		return lines(t, "[rank12]: 2026-03-04 11:02:03 ")
	}},
	{"typographic quotes", func(t, s string, _ *rand.Rand) string {
		t = strings.NewReplacer(`"`+s+`"`, s, "'"+s+"'", s).Replace(t)
		return strings.Replace(t, s, "“"+s+"”", 1)
	}},
	{"backticks", func(t, s string, _ *rand.Rand) string { return strings.Replace(t, s, "`"+s+"`", 1) }},
	{"CR LF", func(t, _ string, _ *rand.Rand) string {
		return "step 3\r\n" + strings.ReplaceAll(t, "\n", "\r\n") + "\r\n"
	}},
	{"colour", func(t, s string, r *rand.Rand) string {
		if len(s) < 4 {
			return t
		}
		return strings.Replace(t, s, s[:3]+"\x1b[31m"+s[3:]+"\x1b[0m", 1)
	}},
	{"split over two lines", func(t, s string, r *rand.Rand) string { return split(t, s, "\n", r) }},
	{"split with a continuation", func(t, s string, r *rand.Rand) string { return split(t, s, "\\\n", r) }},
	{"split and indented", func(t, s string, r *rand.Rand) string { return split(t, s, "\n    ", r) }},
	{"split below a prefix", func(t, s string, r *rand.Rand) string {
		return lines(split(t, s, "\n", r), "[rank12]: ")
	}},
}

func lines(t, prefix string) string { return prefix + strings.ReplaceAll(t, "\n", "\n"+prefix) }

// split breaks a secret of some length in its middle third.
func split(t, s, with string, r *rand.Rand) string {
	if len(s) < 24 || !strings.Contains(t, s) {
		return t
	}
	at := len(s)/3 + r.IntN(len(s)/3)
	for at < len(s) && s[at]&0xc0 == 0x80 {
		at++
	}
	return strings.Replace(t, s, s[:at]+with+s[at:], 1)
}
