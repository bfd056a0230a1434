package main

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestTheLogOfTheBotHoldsNoSecrets(t *testing.T) {
	token := "gh" + "p_" + strings.Repeat("aB3", 12)
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log := logger(&b, slog.LevelInfo, format)
		log.Info("cloning with "+token, "url", "https://robot:"+token+"@host/x", "err", errors.New("401 for "+token), "list", []string{token}, "password", "hunter22", "n", 3)
		got := b.String()
		if strings.Contains(got, token[4:]) || strings.Contains(got, "hunter22") {
			t.Errorf("%s: %s", format, got)
		}
		for _, want := range []string{"cloning with [masked]", "@host/x", "401 for [masked]"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s holds no %q", format, got, want)
			}
		}
	}
}
