package redact

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"faultline/incident"
)

// secret builds a token at run time, so that no scanner of repositories mistakes this table for a leak.
func secret(prefix, alphabet string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteByte(alphabet[(i*7+3)%len(alphabet)])
	}
	return prefix + b.String()
}

const (
	mixedChars = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0UvWxYz"
	upperChars = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	hexChars   = "0123456789abcdef"
)

func TestSecretsAreMasked(t *testing.T) {
	f := func(name, format, secret string) {
		t.Helper()
		in := strings.ReplaceAll(format, "{}", secret)
		got := String(in)
		if strings.Contains(got, secret) {
			t.Errorf("%s: still there: %q", name, got)
		}
		if !strings.Contains(got, Mask) {
			t.Errorf("%s: no mask in %q", name, got)
		}
		if want := strings.ReplaceAll(format, "{}", Mask); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	f("AWS key id", "key {} used", secret("AKIA", upperChars, 16))
	f("AWS temporary key id", "boto: {}", secret("ASIA", upperChars, 16))
	f("AWS secret", "aws_secret_access_key = {}", secret("", mixedChars, 40))
	f("AWS secret in YAML", "AWS_SECRET_ACCESS_KEY: {}", secret("", mixedChars, 38)+"/+")
	f("AWS pair", "creds {}", secret("AKIA", upperChars, 16)+" "+secret("", mixedChars, 40))
	f("GitHub classic", "git clone with {} failed", secret("ghp_", mixedChars, 36))
	f("GitHub fine-grained", "{}", secret("github_pat_", mixedChars, 60))
	f("GitLab", "PRIVATE {}", secret("glpat-", mixedChars, 20))
	f("Slack bot", "slack {} ok", secret("xoxb-", "0123456789-", 40))
	f("Slack app", "slack {} ok", secret("xapp-1-", mixedChars, 40))
	f("Slack hook", "POST https://{}", "hooks.slack.com/services/T000000/B0000000/"+secret("", mixedChars, 24))
	f("Hugging Face", "login({})", secret("hf_", "AbCdEfGhIjKlMnOp", 34))
	f("OpenAI", "key {},", secret("sk-", mixedChars, 48))
	f("OpenAI project", "key {},", secret("sk-proj-", mixedChars, 48))
	f("Anthropic", "key {},", secret("sk-ant-api03-", mixedChars, 60))
	f("Google", "?k {} &", secret("AIza", mixedChars, 35))
	f("NVIDIA", "ngc {}", secret("nvapi-", mixedChars, 60))
	f("NGC in context", "NGC_API_KEY={}", secret("", mixedChars, 84))
	f("W&B in context", "WANDB_API_KEY={}", secret("", hexChars, 40))
	f("W&B login", "+ wandb login {}", secret("", hexChars, 40))
	f("W&B login relogin", "wandb login --relogin {}", secret("", hexChars, 40))
	f("JWT", "got {} from authn", secret("eyJ", mixedChars, 20)+"."+secret("eyJ", mixedChars, 40)+"."+secret("", mixedChars, 43))
	f("AIS token", "AIS_AUTHN_TOKEN={}", secret("eyJ", mixedChars, 20)+"."+secret("eyJ", mixedChars, 40)+"."+secret("", mixedChars, 43))
	f("AIS opaque token", `AIS_AUTHN_TOKEN="{}"`[:16]+"{}", secret("", mixedChars, 22))
	f("bearer header", "Authorization: Bearer {}", secret("", mixedChars, 30))
	f("bearer header in Python", "{'Authorization': 'Bearer {}'}", secret("", mixedChars, 30))
	f("bearer alone", "sent bearer {} to s3", secret("", mixedChars, 30))
	f("basic header", "Authorization: Basic {}", "dXNlcjpodW50ZXIy")
	f("basic alone", "curl -H Basic {}", "dXNlcjpodW50ZXIy")
	f("raw authorization", "authorization: {}", "s3cr3tvalue")
	f("password", "password={}", "hunter")
	f("password in a sentence", "could not login password '{}'", "myp4ssw0rd!")
	f("password quoted", "password={}, user=joe", `"correct horse battery"`)
	f("password JSON", `{"password": {}}`, `"hunter2"`)
	f("password escaped JSON", `{\"password\": {}}`, `\"hunter2\"`)
	f("db password", "DB_PASSWORD: {}", "abc123")
	f("token", "token={}", "a1b2c3d4e5")
	f("HF token", "HF_TOKEN={}", "abcdefghijkl")
	f("client secret", "client_secret={}&x=1", "q8whf")
	f("api key", "api_key={}", "zzzz9999")
	f("api key Python", "Namespace(api_key={}, lr=0.1)", "'zzzz9999'")
	f("flag", "python train.py --hf-token {} --lr 0.1", "zzzz9999aa")
	f("flag password", "mysql --password {}", "zz")
	f("user info", "postgres://{}@db:5432/x", "joe:p@ss")
	f("user info, user only", "https://{}@git.example.com/x", "oauth2token")
	f("signed S3", "https://b.s3.amazonaws.com/k?X-Amz-Credential={}&X-Amz-Date=2026", "AK%2F20260101%2Fus-east-1")
	f("signed S3 signature", "https://b.s3.amazonaws.com/k?a=b&X-Amz-Signature={}", secret("", hexChars, 64))
	f("signed Azure", "https://x.blob.core.windows.net/c?sv=1&sig={}&se=2", "abc%2Fdef%3D")
	f("signed GCS", "https://storage.googleapis.com/b?Signature={}&Expires=1", "abc%2Fdef%3D")
	f("escaped ampersand", `"u?sv=1\u0026sig={}\u0026x=1"`, "abc%2Fdef%3D")
	f("PEM", "x {} y", "-----BEGIN RSA PRIVATE KEY-----MIIEow-----END RSA PRIVATE KEY-----")
	f("PEM without end", "x {}", "-----BEGIN PRIVATE KEY-----MIIEow")
}

func TestPEMKeepsTheNumberOfLines(t *testing.T) {
	in := "a\n-----BEGIN PRIVATE KEY-----\nMIIE\nAAAA\n-----END PRIVATE KEY-----\nb"
	got := String(in)
	if strings.Count(got, "\n") != strings.Count(in, "\n") || strings.Contains(got, "MIIE") || !strings.HasSuffix(got, "\nb") {
		t.Errorf("got %q", got)
	}
}

func TestColourCodesCannotSplitAToken(t *testing.T) {
	tok := secret("ghp_", mixedChars, 36)
	if got := String("x " + tok[:10] + "\x1b[0m" + tok[10:]); got != "x "+Mask {
		t.Errorf("got %q", got)
	}
}

func TestOrdinaryLogTextIsLeftAlone(t *testing.T) {
	for _, s := range []string{
		"[rank37]:[E709 17:05:38.123456789 ProcessGroupNCCL.cpp:616] [Rank 37] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4711, OpType=ALLREDUCE, NumelIn=1048576, NumelOut=1048576, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.",
		"last enqueued NCCL work: 4711, last completed NCCL work: 4710.",
		"/ckpt/3f786850e387550fdab836ed7e6dc881de23001b/step_12000/model.safetensors",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
		"num_tokens=4096 tokens: 123456789 tokens/s: 1.2e5 max_tokens=8192",
		"pad_token='<pad>' eos_token=</s> bos_token=<|begin_of_text|> eos_token_id=128001",
		"Unexpected token: identifier at line 4",
		"token: 128001",
		"tokenizer: /models/llama/tokenizer.json tokenizer_type=SentencePiece",
		"Basic configuration of the run; basic transformer block",
		"key: 17 value: 4 rank=77 node=node09 port=29500",
		"primary_key=12 sort_key=abc",
		"PWD=/home/joe/run OLDPWD=/home/joe",
		"srun: error: Job credential expired",
		"ssh://git@example.com/x.git",
		"s3://bucket/key?versionId=abc tcp://10.0.0.1:29500",
		"ais://bucket/shard-{0000..0999}.tar",
		"wandb: Run data is saved locally in /w/run-20260101_000000-3f786850",
		"wandb: git commit 3f786850e387550fdab836ed7e6dc881de23001b",
		"task-000000000000000000000000000001 disk-full mask-abcdefghijklmnopqrstuvwxyz",
		"password=None token=null api_key='' secret=***** token=<hidden>",
		"RuntimeError: CUDA error: an illegal memory access was encountered",
		"nvidia-smi --query-gpu=ecc.errors.uncorrected.volatile.total --format=csv",
		"eyJ short", "GPU 0000:8A:00.0", "slurmstepd: error: *** STEP 4242.0 ON node09 CANCELLED AT 2026-07-09T17:05:38 DUE TO TIME LIMIT ***",
		"Überlauf im Knoten №7, 温度 85 °C, naïve café",
	} {
		if got := String(s); got != s {
			t.Errorf("changed\n  %q\nto\n  %q", s, got)
		}
	}
}

func TestHostileTextIsMadeHarmless(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := String(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	f("a\x00b", "a\uFFFDb")
	f("a\xffb", "a\uFFFDb")
	f("\x1b[31mred\x1b[0m", "red")
	f("\x1b]0;title\x07x", "x")
	f("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link")
	f("\x1b]0;never ends", "\uFFFD]0;never ends")
	f("\x1b[31", "\uFFFD[31")
	f("50%\rdone", "50%\ndone")
	f("a\r\nb", "a\nb")
	f("abc\u202edef", "abc\uFFFDdef")
	f("\u2066x\u2069", "\uFFFDx\uFFFD")
	f("z\u200bz", "z\uFFFDz")
	f("c1 \u009b31m", "c1 \uFFFD31m")
	f("tab\tnewline\n", "tab\tnewline\n")
	f("👩\u200d🔬 ok", "👩\u200d🔬 ok")
}

func TestReportCoversEveryStringField(t *testing.T) {
	canary := secret("ghp_", mixedChars, 36) + "\x00\u202e"
	r := new(incident.Report)
	n := fill(reflect.ValueOf(r).Elem(), canary, 0)
	if n < 60 {
		t.Fatalf("planted only %d canaries; the walk of the test is broken", n)
	}
	before := planted(reflect.ValueOf(*r), canary)
	out := Report(r)
	if left := planted(reflect.ValueOf(*out), canary); left != 0 {
		t.Errorf("%d of %d canaries survived", left, n)
	}
	masked := planted(reflect.ValueOf(*out), Mask+"\uFFFD\uFFFD")
	if masked != before {
		t.Errorf("%d masks for %d canaries", masked, before)
	}
	if after := planted(reflect.ValueOf(*r), canary); after != before {
		t.Errorf("the original was changed: %d canaries of %d left", after, before)
	}
	if Report(nil) != nil {
		t.Error("Report(nil) is not nil")
	}
}

func TestCountsOfMergedNamesAddUp(t *testing.T) {
	r := &incident.Report{}
	r.Counts.LoaderErrors.PerFile = map[string]int{"a\x00": 1, "a\x01": 2, "b": 4}
	got := Report(r).Counts.LoaderErrors.PerFile
	if want := map[string]int{"a\uFFFD": 3, "b": 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// fill plants the canary in every string, with one element in every slice and map; recursive types end at depth 9.
func fill(v reflect.Value, canary string, depth int) int {
	n := 0
	switch v.Kind() {
	case reflect.String:
		v.SetString(canary)
		return 1
	case reflect.Struct:
		for i := range v.NumField() {
			n += fill(v.Field(i), canary, depth+1)
		}
	case reflect.Pointer:
		if depth < 9 {
			v.Set(reflect.New(v.Type().Elem()))
			n += fill(v.Elem(), canary, depth+1)
		}
	case reflect.Slice:
		if depth < 9 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			n += fill(v.Index(0), canary, depth+1)
		}
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		n += fill(k, canary, depth+1) + fill(e, canary, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	}
	return n
}

func planted(v reflect.Value, text string) int {
	n := 0
	switch v.Kind() {
	case reflect.String:
		n += strings.Count(v.String(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			n += planted(v.Field(i), text)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			n += planted(v.Elem(), text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			n += planted(v.Index(i), text)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			n += planted(k, text) + planted(v.MapIndex(k), text)
		}
	}
	return n
}

func FuzzString(f *testing.F) {
	for _, s := range []string{
		"password=[masked]", "token=\"a b\"", "x://a@b@c", "\x1b\x1b[0m[0m", "\xff\xfe", "Authorization: Bearer abcdefgh1234",
		"-----BEGIN PRIVATE KEY-----\nx", "?sig=a&sig=b", "--token --secret x", "secret: secret: secret: y", "password=password=password=x",
		secret("AKIA", upperChars, 16), secret("eyJ", mixedChars, 50), "api_key='\\'", "'token': \"hf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := String(s)
		if !utf8.ValidString(once) {
			t.Fatalf("invalid UTF-8 from %q", s)
		}
		if twice := String(once); twice != once {
			t.Fatalf("not idempotent: %q → %q → %q", s, once, twice)
		}
		if i := strings.IndexFunc(once, hidden); i >= 0 {
			t.Fatalf("hidden character at %d of %q", i, once)
		}
	})
}
