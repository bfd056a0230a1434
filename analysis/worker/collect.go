package worker

import (
	"reflect"
	"slices"
	"sync"
)

// Collection gathers the observations of many files, in any order and from any number of goroutines, in little more
// memory than what is kept of them. What it gives depends neither on the order nor on the number.
type Collection struct {
	limit int // of progress lines

	mu     sync.Mutex
	parts  []*Observations
	stride int64 // at which courses are kept
	steps  int   // progress lines in the parts
	left   int   // of them after they were last thinned
}

// NewCollection bounds the progress lines of all files together: beyond limit each course is kept at a larger stride, the
// same for all.
func NewCollection(limit int) *Collection { return &Collection{limit: limit, stride: 1} }

// Add takes what was read from a file. The observations belong to the collection from then on.
func (c *Collection) Add(o *Observations) {
	c.mu.Lock()
	stride := c.stride
	c.mu.Unlock()
	o.thin(stride)
	o.trim()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts = append(c.parts, o)
	c.steps += len(o.Progress)
	if c.steps > 2*max(c.limit, c.left) {
		c.thin()
	}
}

// Observations merges what was added and leaves the collection empty.
func (c *Collection) Observations() *Observations {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thin()
	m := merge(c.parts, true)
	c.parts, c.steps, c.left = nil, 0, 0
	return m
}

// thin doubles the stride until few enough lines are left, or no more can go: of each course its first line, its last and
// the worst between are kept at any stride. Of a course the same lines are left whenever that is done.
func (c *Collection) thin() {
	for {
		c.steps = 0
		longest := int64(0)
		for _, o := range c.parts {
			o.thin(c.stride)
			c.steps += len(o.Progress)
			for i := range o.Progress {
				longest = max(longest, o.Progress[i].N)
			}
		}
		c.left = c.steps
		if c.steps <= c.limit || c.stride >= longest {
			return
		}
		c.stride *= 2
	}
}

func (o *Observations) thin(stride int64) {
	if stride <= 1 || len(o.Progress) == 0 {
		return
	}
	if left := thinned(o.Progress, stride); len(left) < len(o.Progress) {
		o.Progress = slices.Clone(left)
	}
}

// Empty says that no line was read that says anything: what looks like an error and matches nothing says as little.
func (o *Observations) Empty() bool {
	v := reflect.ValueOf(o).Elem()
	for i := range v.NumField() {
		switch name := v.Type().Field(i).Name; {
		case name == "Tails" || name == "Unclassified":
		case v.Field(i).Kind() == reflect.Slice && v.Field(i).Len() > 0:
			return false
		}
	}
	return true
}

// trim gives back the room that lists of observations have grown beyond their need.
func (o *Observations) trim() {
	v := reflect.ValueOf(o).Elem()
	for _, f := range v.Fields() {
		if f.Kind() == reflect.Slice && f.Cap() > f.Len() {
			list := reflect.MakeSlice(f.Type(), f.Len(), f.Len())
			reflect.Copy(list, f)
			f.Set(list)
		}
	}
}
