package line

import "time"

// ParseStamp reads the stamp that b begins with and returns its length, 0 if there is none. It knows
//
//	2025-06-03 17:48:01   with 'T', '_', '-' or a blank between, '/' in the date, ".123" or ",123" behind, and a zone
//	06/03/2025 17:48:01   Hugging Face
//	20250603-17:48:01.123 AReaL
//	Fri Aug 30 11:43:14 2024   dmesg -T, asctime
//	Jul 09 10:42:47       syslog
//	17:48:01.680
//
// The emitter is left empty: the form alone does not tell it.
func ParseStamp(b []byte) (Stamp, int) {
	switch c := at(b, 0); {
	case isDigit(c):
		if s, n := dated(b); n > 0 {
			return s, n
		}
		var s Stamp
		n := clock(b, 0, &s)
		if n == 0 {
			return Stamp{}, 0
		}
		s.Kind = TimeOnly
		return s, n
	case isLetter(c):
		return named(b)
	}
	return Stamp{}, 0
}

// dated reads the forms that begin with a numeric date.
func dated(b []byte) (Stamp, int) {
	s := Stamp{Kind: DateTime}
	var ok [3]bool
	var y, m, d, i int
	switch {
	case (at(b, 4) == '-' || at(b, 4) == '/') && at(b, 7) == b[4]:
		y, ok[0] = fixed(b, 0, 4)
		m, ok[1] = fixed(b, 5, 2)
		d, ok[2] = fixed(b, 8, 2)
		i = 10
	case at(b, 2) == '/' && at(b, 5) == '/':
		m, ok[0] = fixed(b, 0, 2)
		d, ok[1] = fixed(b, 3, 2)
		y, ok[2] = fixed(b, 6, 4)
		i = 10
	case at(b, 8) == '-':
		y, ok[0] = fixed(b, 0, 4)
		m, ok[1] = fixed(b, 4, 2)
		d, ok[2] = fixed(b, 6, 2)
		i = 8
	default:
		return Stamp{}, 0
	}
	if !ok[0] || !ok[1] || !ok[2] || !validDay(m, d) || y < 1970 {
		return Stamp{}, 0
	}
	s.Year, s.Month, s.Day = int16(y), int8(m), int8(d)
	switch at(b, i) {
	case 'T', ' ', '_', '-':
		i++
	default:
		return Stamp{}, 0
	}
	n := clock(b, i, &s)
	if n == 0 {
		return Stamp{}, 0
	}
	return s, zone(b, n, &s)
}

// named reads the forms that begin with the name of a weekday or a month.
func named(b []byte) (Stamp, int) {
	i := 0
	withYear := false
	if at(b, 3) == ' ' && weekday(b) {
		i, withYear = 4, true
	}
	if at(b, i+3) != ' ' {
		return Stamp{}, 0
	}
	m := month(b[i:])
	if m == 0 {
		return Stamp{}, 0
	}
	i = spaces(b, i+4)
	d, e := number(b, i, 2)
	if e == i || !validDay(m, d) || at(b, e) != ' ' {
		return Stamp{}, 0
	}
	s := Stamp{Kind: MonthDay, Month: int8(m), Day: int8(d)}
	if i = clock(b, e+1, &s); i == 0 {
		return Stamp{}, 0
	}
	if at(b, i) == ' ' {
		y, ok := fixed(b, i+1, 4)
		if ok && y >= 1970 && y < 2100 && !isAlnum(at(b, i+5)) && (withYear || at(b, i+5) == ']') {
			s.Year, s.Kind = int16(y), DateTime
			i += 5
		}
	}
	return s, i
}

// clock reads HH:MM:SS with an optional fraction at i and returns the index behind it, 0 if it is none.
func clock(b []byte, i int, s *Stamp) int {
	if at(b, i+2) != ':' || at(b, i+5) != ':' {
		return 0
	}
	if len(b)-i < 8 {
		return 0
	}
	h, m, sec := two(b[i:]), two(b[i+3:]), two(b[i+6:])
	if h > 23 || m > 59 || sec > 60 || isDigit(at(b, i+8)) {
		return 0
	}
	s.Hour, s.Minute, s.Second = int8(h), int8(m), int8(sec)
	i += 8
	if c := at(b, i); (c == '.' || c == ',') && isDigit(at(b, i+1)) {
		s.Nanos, i = fraction(b, i+1)
	}
	return i
}

// fraction reads the digits of a fraction of a second as nanoseconds; digits beyond the ninth are passed over.
func fraction(b []byte, i int) (nanos int32, end int) {
	from := i
	for i < len(b) && isDigit(b[i]) {
		if i-from < len(powers) {
			nanos = nanos*10 + int32(b[i]-'0')
		}
		i++
	}
	if n := i - from; n < len(powers) {
		nanos *= powers[n]
	}
	return nanos, i
}

// powers is what a fraction of so many digits is multiplied with to give nanoseconds; nine need nothing.
var powers = [...]int32{1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1000, 100, 10}

// zone reads Z, ±hh:mm or ±hhmm, or " UTC" behind a stamp.
func zone(b []byte, i int, s *Stamp) int {
	j := i
	if at(b, j) == ' ' && (at(b, j+1) == '+' || at(b, j+1) == '-') {
		j++
	}
	switch c := at(b, j); {
	case c == 'Z' && !isAlnum(at(b, j+1)):
		s.Kind = Zoned
		return j + 1
	case c == '+' || c == '-':
		h, ok := fixed(b, j+1, 2)
		k := j + 3
		if at(b, k) == ':' {
			k++
		}
		m, ok2 := fixed(b, k, 2)
		if !ok || !ok2 || h > 14 || m > 59 || isAlnum(at(b, k+2)) {
			return i
		}
		s.Kind = Zoned
		s.ZoneOffset = int16(h*60 + m)
		if c == '-' {
			s.ZoneOffset = -s.ZoneOffset
		}
		return k + 2
	case hasAt(b, j, " UTC") && !isAlnum(at(b, j+4)):
		s.Kind = Zoned
		return j + 4
	}
	return i
}

func validDay(m, d int) bool { return m >= 1 && m <= 12 && d >= 1 && d <= 31 }

const (
	months   = "JanFebMarAprMayJunJulAugSepOctNovDec"
	weekdays = "MonTueWedThuFriSatSun"
)

// month is 1…12 for an English month name of three letters at b[0], else 0.
func month(b []byte) int {
	if len(b) < 3 {
		return 0
	}
	for i := 0; i < len(months); i += 3 {
		if string(b[:3]) == months[i:i+3] {
			return i/3 + 1
		}
	}
	return 0
}

func weekday(b []byte) bool {
	if len(b) < 3 {
		return false
	}
	for i := 0; i < len(weekdays); i += 3 {
		if string(b[:3]) == weekdays[i:i+3] {
			return true
		}
	}
	return false
}

// wall is what the clock showed, as if it were UTC; ok is false where the stamp states no date. year stands for one that is not stated.
func (s Stamp) wall(year int) (t time.Time, ok bool) {
	switch s.Kind {
	case DateTime, Zoned:
		year = int(s.Year)
	case Epoch:
		return time.Unix(s.Unix, int64(s.Nanos)).UTC(), true
	case MonthDay:
	default:
		return time.Time{}, false
	}
	return time.Date(year, time.Month(s.Month), int(s.Day), int(s.Hour), int(s.Minute), int(s.Second), int(s.Nanos), time.UTC), true
}

// Ahead is how much more the clock of s showed than that of o, whatever zones they state. A year that one of them lacks is the
// other's. It is false where one of them states no date.
func (s Stamp) Ahead(o Stamp) (time.Duration, bool) {
	const leap = 2000
	year := leap
	for _, x := range []Stamp{s, o} {
		if a, ok := x.wall(0); ok && x.Kind != MonthDay {
			year = a.Year()
		}
	}
	a, ok := s.wall(year)
	b, too := o.wall(year)
	return a.Sub(b), ok && too
}

// Plus is what a clock shows that is ahead of the stamp's by d; the zone that it states is moved with it.
func (s Stamp) Plus(d time.Duration) Stamp {
	const leap = 2000
	t, ok := s.wall(leap)
	if !ok {
		return s
	}
	t = t.Add(d)
	if s.Kind == Epoch {
		s.Unix = t.Unix()
		return s
	}
	if s.Kind != MonthDay {
		s.Year = int16(t.Year())
	}
	if s.Kind == Zoned {
		s.ZoneOffset += int16(d / time.Minute)
	}
	s.Month, s.Day = int8(t.Month()), int8(t.Day())
	s.Hour, s.Minute, s.Second = int8(t.Hour()), int8(t.Minute()), int8(t.Second())
	return s
}
