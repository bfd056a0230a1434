package diagnose

import (
	"strings"
	"testing"

	"faultline/simulate"
)

// What the message of an exception states by itself, in codes and words that no entry knows.
func TestFieldStatedCauses(t *testing.T) {
	for _, c := range []fieldCase{
		{"a clock, by a code", one(fieldSteps + raisedBy(2, "minio.error.S3Error: S3 operation failed; code: RequestTimeTooSkewed, resource: /b/o")), []string{"exception"}, ""},
		{"a clock, in words", one(fieldSteps + raisedBy(2, "ticketd.AuthError: clock of this host is 412 s behind the realm's")), []string{"exception"}, ""},
		{"credentials", one(fieldSteps + raisedBy(2, "RuntimeError: lakehouse: the session token of service account train has expired")), []string{"config-error", "unknown"}, ""},
		{"a quota", one(fieldSteps + raisedBy(2, "mystore.errors.QuotaExceeded: 2.0 TiB of 2.0 TiB")), []string{"storage-full"}, ""},
		{"file handles", one(fieldSteps + raisedBy(2, "RuntimeError: reader pool: EMFILE")), []string{"resource-limit"}, ""},
		{"a damaged item", one(fieldSteps + inLoader(2, "ShardError", "part 311 is truncated: shard of 4096 records has 1711")), []string{"bad-sample"}, "rank 2"},
		{"a checkpoint that lacks a part", one(raisedBy(2, "RuntimeError: cannot resume: checkpoint shard 6 is missing")), []string{"checkpoint-io", "unknown"}, ""},
		{"versions", one(raisedBy(2, "RuntimeError: index schema version 7 is not supported by this reader")), []string{"version-mismatch", "unknown"}, ""},
		{"the program's own value", one(fieldSteps + raisedBy(2, "RuntimeError: numel: integer overflow for sizes [4294967295, 8192]")), []string{"exception", "unknown"}, "rank 2"},
		{"below a message that says nothing", one(fieldSteps + raisedFromBy("corpus.BlobError: digest mismatch for sample 81", "RuntimeError: epoch 3 could not go on")), []string{"bad-sample"}, ""},
		{"a server without an answer", one(fieldSteps + raisedBy(2, "FeatureError: metadata server unavailable")), []string{"exception", "unknown"}, ""},
		{"a kernel that asks too much", one(fieldSteps + raisedBy(2, "kernels.LaunchError: block needs 300 registers, exceeds hardware limit 255")), []string{"exception"}, "rank 2"},
		{"a queue that stayed empty, without a word", one(fieldSteps + strings.ReplaceAll(raisedBy(2, "_queue.Empty"), "train.py", "prefetcher.py")), []string{"dataloader-stall"}, "rank 2"},
		{"a class of its own, without a word", one(fieldSteps + raisedBy(2, "__main__.Halt")), []string{"exception"}, "rank 2"},
		{"words of what may be", one(fieldSteps + raisedBy(2, "RuntimeError: could not go on; check whether the shard is missing")), []string{"exception", "unknown"}, ""},
		{"the settings of a healthy job", one("config: on_missing_shard=skip quota_exceeded_policy=abort checksum mismatch: ignore\n" + fieldSteps + "training finished\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// Whoever acts follows from what the message states: an error of another's is not the training code's.
func TestTheOwnerFollowsFromWhatAMessageStates(t *testing.T) {
	for _, c := range []struct{ log, owner, cause, code, status string }{
		{raisedBy(2, "minio.error.S3Error: S3 operation failed; code: RequestTimeTooSkewed, resource: /b/o"), "cluster", "clock", "S3 RequestTimeTooSkewed", "probable"},
		{raisedFromBy("minio.error.S3Error: code: RequestTimeTooSkewed", "RuntimeError: epoch 3 could not go on"), "cluster", "clock", "S3 RequestTimeTooSkewed", "probable"},
		{raisedBy(2, "RuntimeError: tokenizer file vocab-7 was not found"), "unknown", "missing", "", "inconclusive"},
		{raisedBy(2, "RuntimeError: numel: integer overflow for sizes [4294967295, 8192]"), "unknown", "argument", "", "inconclusive"}, // a library's, of the data perhaps
		{raisedBy(2, "ValueError: negative sequence length"), "job-code", "argument", "", "confirmed"},
	} {
		r := Run(read(t, []simulate.File{{Name: "o.log", Data: []byte(fieldSteps + c.log)}}, nil, 0))
		s := r.Verdict.Stated
		if s == nil || s.Cause != c.cause || s.Code != c.code || r.Action.Owner != c.owner {
			t.Errorf("%s: states %+v, %s acts", c.log, s, r.Action.Owner)
			continue
		}
		if r.Verdict.Status != c.status {
			t.Errorf("%s: %s", c.log, r.Verdict.Status)
		}
	}
}

// raisedFromBy is an exception of rank 2 that was raised from another.
func raisedFromBy(cause, message string) string {
	return raisedBy(2, cause) + "[rank2]: \n[rank2]: The above exception was the direct cause of the following exception:\n[rank2]: \n" + raisedBy(2, message)
}
