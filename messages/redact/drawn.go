package redact

import "strings"

// changes counts how often neighbours in a text are of another kind: upper case, lower case, digit. Random text changes
// at most places; words, names and numbers seldom do.
func changes(s string) (n, letters int, kinds [3]int) {
	last := -1
	for i := range len(s) {
		var kind int
		switch c := s[i]; {
		case lower(c):
			kind = 0
		case upper(c):
			kind = 1
		case digit(c):
			kind = 2
		default:
			continue // what joins words changes nothing
		}
		kinds[kind]++
		letters++
		if last >= 0 && kind != last {
			n++
		}
		last = kind
	}
	return n, letters, kinds
}

// drawn tells text that was drawn at random from text that somebody wrote. Texts of one case change kind less often.
func drawn(s string) bool {
	n, letters, kinds := changes(s)
	rate := float64(n) / float64(max(1, letters-1))
	switch {
	case letters < 8 || kinds[0]+kinds[1] == 0:
		return false
	case kinds[2] == 0:
		return kinds[0] > 0 && kinds[1] > 0 && rate >= 0.35
	case kinds[0] == 0 && letters >= 16:
		return n >= 2
	case letters >= 20 && (kinds[0] == 0 || kinds[1] == 0):
		return rate >= 0.18
	}
	return rate >= 0.25
}

func isHex(s string) bool {
	for i := range len(s) {
		if !hexDigit(s[i]) {
			return false
		}
	}
	return true
}

// uuid tells the 8-4-4-4-12 form (RFC 9562).
func uuid(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' && isHex(strings.ReplaceAll(s, "-", ""))
}

// identifierPrefixes begin what services give out to be quoted: requests, runs, jobs. They hide nothing.
var identifierPrefixes = set("req run runs raysubmit job jobs file chatcmpl msg thread asst ftjob batch resp evt event exp trial task ckpt checkpoint commit git sha rev model img image " +
	"hash md5 etag cache tmp blob layer digest data shard seed step iter node pod host part chunk trace span uid guid id urn ver build snapshot")

// secretPrefixes are parts of the prefixes that issuers like.
var secretPrefixes = set("sk pk rk pat key token tok secret api live oauth auth apikey priv svc aat rat usr bot sec access v1 v2")

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// findDrawn adds words that look drawn at random and speak for themselves: long, of letters of both cases and digits, or behind a
// prefix as issuers put in front of them. Hex alone is a hash, and stays.
func findDrawn(text string, add func(from, to int)) {
	for at := 0; at < len(text); {
		if !wordByte(text[at]) {
			at++
			continue
		}
		from := at
		for at < len(text) && wordByte(text[at]) {
			at++
		}
		if at-from >= shortestMarked {
			for i := range marked {
				if r := &marked[i]; containsAny(text[from:at], r.hints) {
					r.find(text[from:at], func(f, t int) { add(from+f, from+t) })
				}
			}
		}
		word := strings.TrimRight(text[from:at], ".:~-_")
		skip := len(word) - len(strings.TrimLeft(word, ".:~-+"))
		word = word[skip:]
		if len(word) >= 16 && secretWord(word) && !quotable(text[:from], word) {
			add(from+skip, from+skip+len(word))
		}
	}
}

// shortestMarked is the length of the shortest match of a marked format, that of Kubernetes' bootstrap tokens.
const shortestMarked = 23

func wordByte(c byte) bool { return alnum(c) || strings.IndexByte("+/_-.~=:", c) >= 0 }

// secretWord tells a word that is a secret whatever stands around it.
func secretWord(w string) bool {
	if strings.HasPrefix(w, "_Z") || strings.Contains(w, "::") { // symbols of C++
		return false
	}
	body := strings.TrimRight(w, "=")
	if first := strings.IndexAny(body, "_-./"); first >= 0 && (identifierPrefixes[strings.ToLower(body[:first])] || strings.Trim(body[:first], "0123456789") == "") {
		return false
	}
	if strings.ContainsAny(body, "/:=") {
		return base64Word(body)
	}
	if i := strings.LastIndexAny(body, "._-"); i > 0 && i < 24 {
		if prefixed(body[:i], body[i+1:]) {
			return true
		}
	}
	if first := strings.IndexAny(body, "._-"); first > 0 && first < 16 && prefixed(body[:first], body[first+1:]) {
		return true
	}
	return mixed(body, 20)
}

// mixed tells a long run of both cases and digits. Short parts are words of a name.
func mixed(body string, least int) bool {
	n, letters, kinds := changes(body)
	if letters < least || kinds[0] < 3 || kinds[1] < 3 || kinds[2] < 1 {
		return false
	}
	parts := 1 + strings.Count(body, "-") + strings.Count(body, "_") + strings.Count(body, ".") + strings.Count(body, "+") + strings.Count(body, "/")
	return letters/parts >= 7 && float64(n) >= 0.40*float64(letters-1) && !written(body)
}

// written tells names made of words: much of them stands in runs of lower case, which chance hardly makes.
func written(s string) bool {
	inWords, run := 0, 0
	for i := range len(s) + 1 {
		if i < len(s) && lower(s[i]) {
			run++
			continue
		}
		if run >= 4 {
			inWords += run
		}
		run = 0
	}
	return 3*inWords > len(s)
}

// base64Word is a word with slashes that is no path: few slashes, far apart.
func base64Word(w string) bool {
	if strings.ContainsAny(w, ":=.~") || strings.HasPrefix(w, "/") {
		return false
	}
	n := strings.Count(w, "/")
	return len(w)/(n+1) >= 12 && mixed(w, 36)
}

// prefixed tells an issuer's form: a short prefix, and something drawn.
func prefixed(prefix, body string) bool {
	words := strings.FieldsFunc(strings.ToLower(prefix), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	said := false
	for _, w := range words {
		if strings.Trim(w, "0123456789") == "" {
			return false
		}
		said = said || secretPrefixes[w]
	}
	if len(words) == 0 || len(prefix) > 24 || len(body) < 16 {
		return false
	}
	if isHex(body) {
		return said && len(body) >= 32 && prefix[len(prefix)-1] != '/'
	}
	n, letters, kinds := changes(body)
	least := 20
	if said {
		least = 16
	}
	parts := 1 + strings.Count(body, "-") + strings.Count(body, "_") + strings.Count(body, ".")
	return letters >= least && kinds[2] > 0 && letters/parts >= 7 && float64(n) >= 0.30*float64(letters-1) && (kinds[1] == 0 || !written(body))
}

// quotableBefore are the words in front of what is random and no secret: fingerprints, digests, public keys, ids of requests.
var quotableBefore = []string{"sha1:", "sha256:", "sha384:", "sha512:", "sha256-", "sha384-", "sha512-", "md5:", "hostid: ", "id-2: ", "versionid=", "version-id: ", "ssh-rsa ", "ssh-ed25519 ", "ssh-dss ",
	"nistp256 ", "nistp384 ", "nistp521 ", "etag: ", "etag: \"", "digest=", "digest: ", "checksum: ", "checksum=", "request id ", "requestid: ", "request-id: ", "request_id=", "fingerprint "}

// quotable tells by what stands in front of a word that it may be shown, or that it is part of a path.
func quotable(before, word string) bool {
	before = strings.ToLower(before[max(0, len(before)-16):])
	for _, b := range quotableBefore {
		if strings.HasSuffix(before, b) {
			return true
		}
	}
	head := strings.ToLower(word[:min(7, len(word))])
	return strings.HasPrefix(head, "sha256-") || strings.HasPrefix(head, "sha256:") || strings.HasPrefix(head, "sha512-") || strings.HasPrefix(head, "sha384-") || strings.HasPrefix(word, "AAAAC3NzaC1lZDI1NTE5") || strings.HasPrefix(word, "AAAAB3NzaC1yc2E")
}
