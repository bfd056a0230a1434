package worker

import "bytes"

// The shapes of backoff, gcsfs' and google-api-core's retries and Hadoop's; see storage_shape.go.

// called is the name at the start of b that an opening bracket follows, `[\w.]+\(`, and what stands behind the bracket.
func called(b []byte) (name, rest []byte, ok bool) {
	n := 0
	for n < len(b) && (isWord(b[n]) || b[n] == '.') {
		n++
	}
	if n == 0 || n == len(b) || b[n] != '(' {
		return nil, nil, false
	}
	return b[:n], b[n+1:], true
}

// `Giving up (?P<target>[\w.]+)\(.* after (?P<limit>\d+) tries`
func shapeGivingUp(v *IO, text []byte) bool {
	const key, behind = "Giving up ", " after "
	for b := after(text, key); b != nil; b = after(b, key) {
		name, rest, ok := called(b)
		if !ok {
			continue
		}
		for end := len(rest); ; {
			i := bytes.LastIndex(rest[:end], []byte(behind))
			if i < 0 {
				break
			}
			end = i + len(behind) - 1
			number := rest[i+len(behind):]
			if n := digits(number); n > 0 && bytes.HasPrefix(number[n:], []byte(" tries")) {
				v.target(name)
				return count(&v.Limit, number[:n])
			}
		}
	}
	return false
}

// `Backing off (?P<target>[\w.]+)\(.* for [\d.]+s`
func shapeBackingOff(v *IO, text []byte) bool {
	const key = "Backing off "
	for b := after(text, key); b != nil; b = after(b, key) {
		if name, rest, ok := called(b); ok && seconds(rest, " for ") {
			v.target(name)
			return true
		}
	}
	return false
}

// `Retrying due to .*, sleeping [\d.]+s`
func shapeSleeping(_ *IO, text []byte) bool {
	return seconds(after(text, "Retrying due to "), ", sleeping ")
}

// seconds reports whether b holds key with `[\d.]+s` behind it.
func seconds(b []byte, key string) bool {
	for b = after(b, key); b != nil; b = after(b, key) {
		if n := decimals(b); n > 0 && n < len(b) && b[n] == 's' {
			return true
		}
	}
	return false
}

// `Retrying connect to server: (?P<target>[^\s]+?)\. Already tried (?P<done>\d+) time\(s\)(?:; (?:retry policy is|maxRetries=).*?(?:maxRetries=)(?P<limit>\d+))?`
func shapeAlreadyTried(v *IO, text []byte) bool {
	const key, most = "Retrying connect to server: ", "maxRetries="
	for b := after(text, key); b != nil; b = after(b, key) {
		server := word(b)
		rest, ok := bytes.CutPrefix(b[len(server):], []byte(" Already tried "))
		if !ok || len(server) < 2 || server[len(server)-1] != '.' {
			continue
		}
		n := digits(rest)
		tail, ok := bytes.CutPrefix(rest[n:], []byte(" time(s)"))
		if !ok || n == 0 {
			continue
		}
		v.target(server[:len(server)-1])
		if !count(&v.Attempt, rest[:n]) {
			return false
		}
		v.Attempt++
		policy, ok := bytes.CutPrefix(tail, []byte("; retry policy is"))
		if !ok {
			policy, ok = bytes.CutPrefix(tail, []byte("; "+most))
		}
		if !ok {
			return true
		}
		for p := after(policy, most); p != nil; p = after(p, most) {
			if n := digits(p); n > 0 {
				return count(&v.Limit, p[:n])
			}
		}
		return true
	}
	return false
}
