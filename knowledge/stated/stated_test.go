package stated

import (
	"strings"
	"testing"

	"faultline/knowledge"
)

func TestReadTellsTheCauseThatAMessageStates(t *testing.T) {
	for _, c := range []struct {
		class, message string
		want           knowledge.ID
	}{
		{"botocore.exceptions.ClientError", "An error occurred (RequestTimeTooSkewed) when calling the GetObject operation: The difference between the request time and the current time is too large.", knowledge.StatesClock},
		{"RuntimeError", "the difference between the request time and the server time is too large", knowledge.StatesClock},
		{"gssapi.raw.misc.GSSError", "Major (851968): Unspecified GSS failure, Minor (2529638943): Clock skew too great", knowledge.StatesClock},
		{"RuntimeError", "shard 6 missing", knowledge.StatesMissing},
		{"LoaderError", "manifest refers to objects which no longer exists", knowledge.StatesMissing},
		{"FetchError", "no such bucket: corpora-v3", knowledge.StatesMissing},
		{"google.cloud.exceptions.NotFound", "404 GET https://storage.googleapis.com/b/x: The specified bucket does not exist.", knowledge.StatesMissing},
		{"mylib.ShardMissing", "7", knowledge.StatesMissing},
		{"RuntimeError", "checksum mismatch in block 81 of part-00012", knowledge.StatesDamaged},
		{"ChecksumMismatchError", "0x01 0x02", knowledge.StatesDamaged},
		{"polars.exceptions.ComputeError", "parquet: File out of specification: The file must end with PAR1", knowledge.StatesDamaged},
		{"ValueError", "crc32c of record 19 does not match", knowledge.StatesDamaged},
		{"RuntimeError", "quota exceeded for project 91", knowledge.StatesQuota},
		{"RuntimeError", "Training failed with: code: 8 message: \"The following quota metrics exceed quota limits: custom_model_training_gpus\"", knowledge.StatesQuota},
		{"TrainingError", "The following quota metrics exceed quota limits: custom_model_training_gpus", knowledge.StatesQuota},
		{"OSError", "write failed, storage quota of the group used up", knowledge.StatesFull},
		{"google.api_core.exceptions.ResourceExhausted", "429 Quota exceeded for x.googleapis.com/generate_content_requests_per_minute", knowledge.StatesThrottled},
		{"botocore.exceptions.ClientError", "An error occurred (UnheardOf) when calling the DescribeJob operation: The security token included in the request is expired.", knowledge.StatesCredentials},
		{"RuntimeError", "invalid argument 0: Sizes of tensors must match except in dimension 0. Got 4035 and 4003 in dimension 2", knowledge.StatesArgument},
		{"RuntimeError", "batch dimension mismatch, got self.batch_size=torch.Size([3]) and value.shape=torch.Size([8, 3]).", knowledge.StatesArgument},
		{"RuntimeError", "Too many open files. Communication with the workers is no longer possible.", knowledge.StatesLimit},
		{"ResourceError", "Quota exceeded for quota metric 'Read requests' per minute", knowledge.StatesThrottled},
		{"OSError", "the filesystem has run out of inodes", knowledge.StatesFull},
		{"ssl.SSLError", "certificate has expired", knowledge.StatesCertificate},
		{"RuntimeError", "the access token has expired", knowledge.StatesCredentials},
		{"psycopg.OperationalError", "FATAL: sorry, too many clients already", knowledge.StatesLimit},
		{"psycopg.errors.TooManyConnections", "", knowledge.StatesLimit},
		{"dbapi.Error", "SQLSTATE[53300]: remaining slots are reserved", knowledge.StatesLimit},
		{"grpc.RpcError", "status = StatusCode.RESOURCE_EXHAUSTED", knowledge.StatesThrottled},
		{"jaxlib.XlaRuntimeError", "RESOURCE_EXHAUSTED: out of device memory", knowledge.StatesGPUMemory},
		{"RuntimeError", "EMFILE while opening a reader", knowledge.StatesLimit},
		{"RuntimeError", "io error: Too many open files (os error 24)", knowledge.StatesLimit},
		{"RuntimeError", "server answered HTTP 507", knowledge.StatesFull},
		{"requests.HTTPError", "401 Client Error: Unauthorized for url: https://x", knowledge.StatesCredentials},
		{"RuntimeError", "KRB_AP_ERR_SKEW", knowledge.StatesClock},
		{"RuntimeError", "could not resolve feature-store.internal", knowledge.StatesName},
		{"FeatureStoreError", "metadata server unreachable", knowledge.StatesUnreachable},
		{"RuntimeError", "protocol version mismatch: 4 and 5", knowledge.StatesVersion},
		{"RuntimeError", "Storage size calculation overflowed with sizes=[4294967295, 4096]", knowledge.StatesArgument},
		{"RuntimeError", "stack expects each tensor to be equal size, but got [3, 448, 448] at entry 0 and [4, 448, 448] at entry 17", knowledge.StatesArgument},
		{"MemoryError", "std::bad_alloc", knowledge.StatesMemory},
		{"java.io.IOException", "the worker ran out of heap space", knowledge.StatesMemory},
		{"RuntimeError", "the worker process ran out of memory", knowledge.StatesSomeMemory},
		{"RuntimeError", "HIP error: out of memory", knowledge.StatesGPUMemory},
		{"OSError", "the paging file is too small", ""},
		{"MPIError", "message truncated, error stack", ""},
		{"AuthError", "invalid token from header", ""},
		{"RuntimeError", "out of memory while trying to allocate 34359738368 bytes on device 3", knowledge.StatesGPUMemory},
		{"IndexingError", "skipping corrupted record 9", ""},
		// What states nothing: counter-examples of the same words.
		{"RuntimeError", "something went wrong", ""},
		{"RuntimeError", "resume from global_step9000 failed", ""},
		{"RuntimeError", "if a shard is missing, rerun the converter", ""},
		{"RuntimeError", "training stopped; please check whether the token has expired", ""},
		{"RuntimeError", "no checksum mismatch was found", ""},
		{"RuntimeError", "0 shards missing", ""},
		{"RuntimeError", "token id 50261 is not in the vocabulary", ""},
		{"AssertionError", "step 12 before step 11", ""},
		{"RuntimeError", "NCCL error: unhandled system error", ""},
		{"ValueError", "max_quota=8 clock=mono certificate=/etc/ca.pem", ""},
		{"RuntimeError", "loss is 404 at step 507", ""},
	} {
		s, _ := Read(c.class, c.message, true)
		if s.Cause != c.want {
			t.Errorf("%s: %s\n  states %q (%s), want %q", c.class, c.message, s.Cause, s.Code, c.want)
		}
	}
}

// A code stands once in its vocabulary, and every cause that is stated is one of the closed list.
func TestVocabulariesAreConsistent(t *testing.T) {
	held := 0
	for _, v := range vocabularies {
		if v.source == "" {
			t.Errorf("%s has no source", v.name)
		}
		seen := map[string]knowledge.ID{}
		for id, codes := range v.codes {
			if _, ok := knowledge.CauseStated(id); !ok {
				t.Errorf("%s: unknown cause %s", v.name, id)
			}
			for code := range strings.FieldsSeq(codes) {
				if was, twice := seen[code]; twice {
					t.Errorf("%s: %s means %s and %s", v.name, code, was, id)
				}
				seen[code] = id
				held++
			}
		}
	}
	if held < 350 {
		t.Errorf("%d codes, want all", held)
	}
	for p, id := range meant {
		if _, ok := knowledge.CauseStated(id); !ok {
			t.Errorf("%v: unknown cause %s", p, id)
		}
	}
}
