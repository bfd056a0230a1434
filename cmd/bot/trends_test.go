package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTrendsAreToldWithTheirChance(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.jsonl")
	var b strings.Builder
	for i := range 40 {
		verdict := `"completed":true,"status":"no-failure","mechanism":"completed","origin":"none"`
		if i%4 == 0 {
			verdict = `"completed":false,"status":"confirmed","mechanism":"gpu-ecc","origin":"gpu","root_nodes":["n7"]`
		}
		node := map[bool]string{true: "n7", false: fmt.Sprint("m", i)}[i%4 == 0]
		fmt.Fprintf(&b, `{"schema":"faultline.history/v1","id":"%d/0","job":"%d","run":0,"nodes":["%s"],%s}`+"\n", i+1, i+1, node, verdict)
	}
	if err := os.WriteFile(file, []byte(b.String()+"no line\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, "", "trends", file).want(t, exitOK, "n7 was the culprit in 10 of the 10 runs it broke or completed, against 0 of the 30 others (chance below 1 in 10,000)", "40 runs read, 1 trend", "h.jsonl:41: not used")
	call(t, "", "trends", "--json", file).want(t, exitOK, `"kind": "node"`, `"risk_ratio": null`)
	call(t, "", "trends").want(t, exitUsage, "name a history")
	call(t, "", "trends", filepath.Join(t.TempDir(), "none")).want(t, exitUnreadable)
}
