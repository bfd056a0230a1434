package resolve

import (
	"faultline/analysis/worker"
	"faultline/knowledge"
	"faultline/knowledge/stated"
	"faultline/pattern"
)

// mistakes are classes that Python raises for what a program does with its own data: their message is that data, not a statement.
var mistakes = map[string]bool{"KeyError": true, "IndexError": true, "NameError": true, "UnboundLocalError": true, "ZeroDivisionError": true, "AttributeError": true, "StopIteration": true,
	"FileNotFoundError": true, "NotADirectoryError": true, "ImportError": true, "ModuleNotFoundError": true} // of which it depends on when it was raised

// heard keeps what messages state: many ranks raise the same. A nil one keeps nothing.
type heard map[string]stated.Statement

// mostHeard bounds how many messages are kept.
const mostHeard = 4096

// states is what the message of one exception of a class states.
func (h heard) states(class string, x *worker.Exception, codes bool) stated.Statement {
	if mistakes[class] {
		return stated.Statement{}
	}
	key := x.Type + " " + x.Message
	st, known := h[key]
	if !known {
		st, _ = stated.Read(x.Type, x.Message, codes)
		if h != nil && len(h) < mostHeard {
			h[key] = st
		}
	}
	return st
}

// meaningOf is what a statement about something means.
func meaningOf(known *knowledge.Catalogue, st *stated.Statement, about knowledge.Situation) Meaning {
	e := known.Entry(st.Cause)
	m := Meaning{e.Mechanism, e.Role, e.Direct, e.ID}
	if st.Store {
		about |= knowledge.WithStore
	}
	for i := range e.Cases {
		if about&e.Cases[i].In != 0 {
			return m.in(&e.Cases[i])
		}
	}
	return m
}

// Stated is the cause that any line states, and the mechanism that it speaks for.
func Stated(known *knowledge.Catalogue, text string) (*knowledge.StatedCause, knowledge.Slug) {
	st, ok := stated.Read("", text, known.Reads(stated.Codes))
	if !ok {
		return nil, ""
	}
	cause, _ := knowledge.CauseStated(st.Cause)
	return cause, meaningOf(known, &st, aboutOf(text)).Mechanism
}

// Words of messages that speak of a checkpoint, and of data. What is of a checkpoint may be called a shard as well.
var (
	checkpointWords = pattern.New(`(?i)checkpoint|ckpt|optim(?:izer)?[ _]state|state[ _]dict|global_step|\.distcp|\.safetensors|model weights|\.pth?\b`)
	dataWords       = pattern.New(`(?i)\b(?:sample|dataset|record|shard|manifest|image|audio|video|row group)s?\b|parquet|hdf5|zarr|lmdb|\.(?:tar|arrow|jsonl|mds|h5|tfrecord)\b`)
)

// aboutOf is what a message speaks of.
func aboutOf(message string) knowledge.Situation {
	switch {
	case checkpointWords.MatchString(message):
		return knowledge.WithCheckpoint
	case dataWords.MatchString(message):
		return knowledge.WithData
	}
	return 0
}
