// Package scan makes one pass over a file of any size, looking for many literals at once in bounded memory. It knows
// nothing about what the lines mean.
package scan

// Line is one physical line that holds at least one of the literals, or that was asked for.
type Line struct {
	No  int64 // 1-based, counting \n only
	Off int64 // offset of the line's first byte in the content (decompressed)
	// Text is the line without its \n (a \r before it is kept). Valid until the visitor returns. Lines longer than
	// the limit are delivered in windows: then Long is true, Text begins at TextOff > Off or is cut at the limit.
	Text    []byte
	TextOff int64
	Long    bool
	// Final is true for a last line without \n.
	Final bool
	// Hits are the ids of the literals that occur in Text, ascending, without repetition. Empty for lines that were
	// delivered only because they were asked for (head of the file, More). Frequent ones may be missing until Fill.
	Hits []uint16
	// Last is true for the lines in the last bytes of the content, where frequent literals are looked for again.
	Last bool
	// Passed is true for a line with nothing but frequent literals that was delivered only because it was asked for: it
	// stands where such lines are passed over.
	Passed bool
	// Before are some of the lines right above this one, if they were passed over because they hold nothing but frequent
	// literals, or none (see Options.Frequent).
	Before []byte
	// Below is what follows the line in the content: belowMost bytes, or all there is. Nil where it is not known: within a
	// line that is too long, and for a scanner without frequent literals.
	Below []byte
	// Marks are all places where a literal stands in Text, in order, of those in Hits.
	Marks []Mark
	// Enough is for the visitor to say that nobody wants the lines any more that it asked for before.
	Enough bool
	// Skip is for the visitor to say how many of the next lines it knows already, from Below: they are not delivered.
	Skip int

	lacks bool // frequent literals were not looked for yet
	by    *pass
}

// Fill looks for the frequent literals where that was not done: the line stands where lines with nothing else are passed over.
func (l *Line) Fill() {
	if l.lacks {
		l.lacks = false
		l.by.fill(l)
	}
}

// Above is the line right above this one, whatever it holds; nil where there is none, or where it is too long to be known.
func (l *Line) Above() []byte {
	if l.by == nil || l.Long {
		return nil
	}
	return l.by.lineAbove()
}

// Mark is one literal in the text of a line.
type Mark struct {
	At  int32 // offset in Line.Text
	Lit uint16
}

// Stats describe the file after the pass.
type Stats struct {
	Bytes, Lines int64
	EndsClean    bool // not empty, last byte \n, no hole ≥ 4 KiB, decompression reached its end
	NULs         int64
	Holes        []Hole // runs of NUL bytes ≥ 4 KiB
}

// Hole is a run of NUL bytes.
type Hole struct{ Off, Len int64 }

// Visitor is called for each delivered line, in order. It returns how many of the following lines it wants to see even
// if they hold no literal (0 = none), or an error that ends the pass. Unwanted says that the line, which nobody had asked
// for, might as well not have been delivered.
type Visitor func(l *Line) (more int, err error)

// Peeker is asked for lines before they are searched; text is valid until it returns. Those that it takes are not delivered. It is not asked for
// lines that were asked for, for those in the last bytes, and where frequent ones are passed over.
type Peeker func(text []byte, no, off int64) (taken bool)

// Unwanted is what a Visitor returns for a line that only seemed to be of interest.
const Unwanted = -1
