package incident

import (
	"math"
	"strconv"
)

// Kinds of evidence.
const (
	KindQuote     = "quote"     // this text stands at this place
	KindCount     = "count"     // n lines of these files satisfy the predicate
	KindAbsence   = "absence"   // no line of these files satisfies the predicate; all of them end cleanly
	KindSet       = "set"       // the values captured from the lines satisfying the predicate are exactly these
	KindInventory = "inventory" // expected against seen
	KindDerived   = "derived"   // a formula over other evidence
	KindRecord    = "record"    // an object in a file that holds one value, a pickle or JSON, has these members
)

// Evidence is something the verifier can evaluate on the raw bytes. Which fields are set depends on Kind; a field that
// the kind does not evaluate must be left empty, or the evidence is rejected: nobody may print what nobody checked.
//
// Content is the file's bytes, for .gz and .zst files (told by their magic bytes) the decompressed ones. Offsets and
// byte counts are of the content. A line ends at \n and nowhere else; Line is the number of \n before Offset, plus 1.
// A segment is what stands between two of \r, \n, start and end of the content: predicates look at one segment at a
// time, and count counts segments, so a progress bar redrawn ten times is ten.
type Evidence struct {
	Kind string `json:"kind"`

	// quote: Text are the raw bytes that stand at Offset of File, within line Line (so without \n; ANSI codes and \r are
	// kept as they are). Where the line is not valid UTF-8, quote a part of it that is: JSON cannot carry the rest.
	File   string `json:"file,omitempty"`
	Line   int64  `json:"line,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Text   string `json:"text,omitempty"`
	// Span is how many raw bytes the engine read for this quote; it tells the quoter what to fetch and is not reported.
	Span int `json:"-"`

	// Predicate: for a quote what one segment of its text must satisfy (optional); for count, absence and set (required)
	// what selects segments; for inventory optional, see there.
	Predicate *Predicate `json:"predicate,omitempty"`

	// count, absence, set, inventory: the files searched, each once. count: N ≥ 1 segments satisfy the predicate (for
	// none there is absence). absence: no segment does, all files end cleanly (not empty, last byte \n, no run of 4096
	// or more NUL bytes, decompression reached its end), and Bytes is the sum of their contents' lengths.
	Files []string `json:"files,omitempty"`
	N     int64    `json:"n,omitempty"`
	Bytes int64    `json:"bytes_searched,omitempty"`

	// record: File holds one value, as a pickle (protocol 2 to 4) or as JSON, or is a capture (pcap, pcapng), whose packets of TCP are objects
	// at "packets[n]" with the members src, dst, seq, data, window and, where it is set, rst. At Place, "" the value itself, else names and
	// indices from 0 in turn ("entries[12]", "pg_status.5"; a name holds no dot and no bracket), stands an object in which the
	// Members of Predicate hold and its NotMembers do not. "[]" is the value of a list without elements, null of one that is none.
	Place string `json:"place,omitempty"`

	// set: the distinct values captured from the segments that satisfy the predicate, sorted numerically where all are
	// integers, else bytewise; never empty. Segments without the key, or with nothing after it, add no value.
	Capture *Capture `json:"capture,omitempty"`
	Values  []string `json:"values,omitempty"`

	// inventory: Expected as stated by From (not empty) against Seen, which is checked in one of two ways: with Predicate
	// and Capture, Seen are the values captured over Files as in set; without, every value of Seen is a word of the name
	// of one of Files and every one of Files has such a word (a word is bounded by bytes other than letters and digits).
	// Inputs, if any, prove Expected.
	Expected []string `json:"expected,omitempty"`
	Seen     []string `json:"seen,omitempty"`
	From     string   `json:"from,omitempty"`

	// derived: Formula over Inputs, each verified itself, gives Result.
	//   "time-minus-ms"  input 0 is a quote; its stamp is the value of its predicate's first field that holds HH:MM:SS,
	//                    else the first HH:MM:SS in its text. The milliseconds are the first integer field of the last
	//                    input (which may be input 0). Fractions of the stamp are ignored (PyTorch's is no fraction of
	//                    that second). Result "HH:MM:SS": rounded down to the second, modulo a day.
	//   "difference"     input 0 − input 1, decimal. The number of an input is its N for count, its number of Values for
	//   "sum"            set, 0 for absence, its integer Result for derived, else the first integer field of its predicate.
	//   "ratio"          input 1 ÷ input 0, with two decimals, half rounded up. The number of an input, a quote, is the first
	//                    field of its predicate that is a decimal fraction ("105.16", "3"), positive.
	//   "quotient"       input 0 / input 1, the divisor above 0, rounded down; "quotient-up" rounded up; "remainder" what
	//                    rounding down leaves, never negative. Numbers as for difference, and of a field "n/m" its n.
	//   "missing"        the values of input 0 that input 1 lacks, in input 0's order, joined with ",". The values of a
	//                    set are Values; of an inventory Expected as input 0 and Seen as input 1. Result "" if none.
	Formula string     `json:"formula,omitempty"`
	Inputs  []Evidence `json:"inputs,omitempty"`
	Result  string     `json:"result,omitempty"`
}

// Predicate is a machine-readable condition on one segment. Before it is evaluated, ANSI escape sequences are taken out
// of the segment: CSI (ESC [ … final byte), OSC (ESC ] … BEL or ESC \), and ESC with one byte of @…_. It must hold at
// least one literal, field or member.
type Predicate struct {
	// Literals must all occur, in this order, without overlap. Case-sensitive.
	Literals []string `json:"literals,omitempty"`
	// Fields must all hold.
	Fields []Field `json:"fields,omitempty"`
	// None of these may occur.
	Not []string `json:"not,omitempty"`
	// Members: the segment is one JSON object, at most MaxRecord bytes long, in which all of them hold and none of
	// NotMembers does; for a record, the object is the one at its place.
	Members    []Member `json:"members,omitempty"`
	NotMembers []Member `json:"not_members,omitempty"`
}

// MaxRecord is how long a segment may be that is read as a JSON object.
const MaxRecord = 192 << 10

// Member is "the member Name of the object is Value, or a list that has Value among its elements". A string is compared
// with its text, a number, true and false as they are written.
type Member struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Field is "the token right after the first occurrence of Key equals Value". Key holds whatever stands between, spaces
// too ("rank ", "Timeout(ms)="). The token ends at the first byte that is not an ASCII letter, digit, '_', '-', '.', ':'
// or '/'; trailing '.' and ':' do not belong to it. A token longer than 256 bytes is no token. In a quote whose text
// ends inside a token, the token is the one in the file: a cut number proves nothing.
type Field struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Capture takes the token right after the first occurrence of Key (see Field), or what the member Member of a segment that
// is a JSON object is, where that is no list; exactly one of them is set.
type Capture struct {
	Key    string `json:"key,omitempty"`
	Member string `json:"member,omitempty"`
}

// MarshalJSON writes two decimals, always.
func (c Confidence) MarshalJSON() ([]byte, error) {
	f := float64(c)
	if math.IsNaN(f) || f < 0 {
		f = 0
	}
	if f > 1 {
		f = 1
	}
	return strconv.AppendFloat(nil, f, 'f', 2, 64), nil
}

// Quote builds the commonest evidence.
func Quote(file string, line, offset int64, text string, p *Predicate) Evidence {
	return Evidence{Kind: KindQuote, File: file, Line: line, Offset: offset, Text: text, Predicate: p}
}
