package secrets

import (
	"encoding/base64"
	"math/rand/v2"
	"strings"
)

// file is a file that holds secrets, printed as a whole. Each {slot} is filled; those within « » are the secrets.
type file struct{ name, text string }

var files = []file{
	{"netrc", "machine api.host\n  login robot\n  password «{A20}»\n"},
	{"netrc with tabs", "machine api.host\n\tlogin robot\n\tpassword «{a12}»\nmachine b.host login u password «{A14}»\n"},
	{"kubeconfig token", "apiVersion: v1\nkind: Config\nusers:\n- name: robot\n  user:\n    token: «{A40}»\n"},
	{"kubeconfig key", "users:\n- name: robot\n  user:\n    client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==\n    client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo{B200}»\n"},
	{"kubeconfig password", "users:\n- name: robot\n  user:\n    username: admin\n    password: «{a12}»\n"},
	{"docker auth", "{\n\t\"auths\": {\n\t\t\"https://registry.host/v1/\": {\n\t\t\t\"auth\": \"«#robot:{A20}#»\"\n\t\t}\n\t}\n}"},
	{"docker identity token", "{\"auths\":{\"registry.host\":{\"identitytoken\":\"«{w60}»\"}}}"},
	{"RSA key", "-----BEGIN RSA PRIVATE KEY-----\n«MII{B61}»\n«{B64}»\n«{B64}»\n«{B64}»\n«{B30}»==\n-----END RSA PRIVATE KEY-----\n"},
	{"PKCS 8 key on one line", "key=-----BEGIN PRIVATE KEY----- «MII{B61}» «{B64}» «{B30}»== -----END PRIVATE KEY-----"},
	{"OpenSSH key", "-----BEGIN OPENSSH PRIVATE KEY-----\n«b3BlbnNzaC1rZXktdjEAAAAA{B46}»\n«{B70}»\n«{B70}»\n«{B22}»==\n-----END OPENSSH PRIVATE KEY-----\n"},
	{"EC key, cut", "step 4\n-----BEGIN EC PRIVATE KEY-----\n«MHcCAQEE{B56}»\n«{B64}»\n"},
	{"RSA key without its head", "«{B64}»\n«{B64}»\n«{B64}»\n«{B40}»==\n-----END RSA PRIVATE KEY-----\n"},
	{"RSA key, body only", "«{B64}»\n«{B64}»\n«{B64}»\n«{B64}»\n«{B40}»==\nstep 5\n"},
	{"OpenSSH key, body only", "reading id\n«b3BlbnNzaC1rZXktdjEAAAAA{B46}»\n«{B70}»\n«{B70}»\n«{B22}»==\n"},
	{"PGP key", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«lQOY{B60}»\n«{B64}»\n«{B64}»\n=«{A4}aB3d»\n-----END PGP PRIVATE KEY BLOCK-----\n"},
	{"RSA key below a prefix", "[rank0]: -----BEGIN RSA PRIVATE KEY-----\n[rank0]: «MII{B61}»\n[rank0]: «{B64}»\n[rank0]: «{B30}»==\n[rank0]: -----END RSA PRIVATE KEY-----\n[rank0]: step 3\n"},
	{"RSA body below a prefix", "[rank0]: «{B64}»\n[rank0]: «{B64}»\n[rank0]: «{B64}»\n[rank0]: «{B30}»==\n[rank0]: step 3\n"},
	{"service account", "{\"type\": \"service_account\", \"project_id\": \"p\", \"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMII«{B61}»\\n«{B64}»\\n«{B30}»=\\n-----END PRIVATE KEY-----\\n\", \"client_email\": \"r@p.iam\"}"},
	{"pgpass", "# host:port:db:user:password\ndb.host:5432:*:robot:«{a10}x7»\nlocalhost:*:runs:root:«{A14}»\n"},
	{"htpasswd", "robot:«$apr1${A8}${w22}»\n"},
	{"htpasswd bcrypt", "robot:«$2y$10${A53}»\n"},
	{"shadow", "root:«$6${A16}${w86}»:19000:0:99999:7:::\n"},
	{"PuTTY key", "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: x\nPublic-Lines: 1\nAAAAC3NzaC1lZDI1NTE5AAAA\nPrivate-Lines: 1\n«{B43}»=\nPrivate-MAC: «{h64}»\n"},
	{"AWS credentials", "[default]\naws_access_key_id = «AKIA{U16}»\naws_secret_access_key = «{B40}»\n"},
	{"rclone", "[s3]\ntype = s3\naccess_key_id = «{A20}»\nsecret_access_key = «{B40}»\n[ftp]\npass = «{w24}»\n"},
	{"git credentials", "https://robot:«{A20}»@git.host\n"},
	{"WireGuard", "[Interface]\nAddress = 10.0.0.2/32\nPrivateKey = «{B43}»=\n[Peer]\nPresharedKey = «{B43}»=\n"},
	{"JWK", "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"abc\",\"d\":\"«{w43}»\"}"},
	{"cookie jar", "# Netscape HTTP Cookie File\n.host\tTRUE\t/\tTRUE\t1893456000\tsession\t«{A32}»\n"},
	{"my.cnf", "[client]\nuser=robot\npassword=«{a12}»\n"},
	{"pip.conf", "[global]\nindex-url = https://robot:«{A20}»@pypi.host/simple\n"},
	{"kaggle.json", "{\"username\":\"robot\",\"key\":\"«{h32}»\"}"},
	{"Kubernetes secret", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ntype: Opaque\ndata:\n  username: cm9ib3Q=\n  db: «#{A22}#»\n  other: «#{A20}#»\n"},
	{"Kubernetes secret, stringData", "kind: Secret\nstringData:\n  db-conn: «{A22}»\n"},
	{"Ansible vault", "$ANSIBLE_VAULT;1.1;AES256\n«{h80}»\n«{h80}»\n«{h34}»\n"},
	{"one-time password", "otpauth://totp/x:robot?secret=«{U32}»&issuer=x"},
	{"Azure connection string", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«{B86}»==;EndpointSuffix=core.windows.net"},
	{"SAS", "https://x.blob.core.windows.net/c/o?sv=2024-01-01&se=2026-01-01&sr=c&sp=rl&sig=«{A40}»%3D"},
	{"signed S3", "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=«AKIA{U16}»%2F20260101%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Signature=«{h64}»"},
	{"dotenv", "DEBUG=1\nTRACKER_TOKEN=«{A30}»\nSECRET=«{A22}»\nDB_URL=mysql://robot:«{A16}»@db/x\n"},
	{"npmrc", "registry=https://registry.host\n//registry.host/:_authToken=«{u}»\n//other/:_password=«{B20}»=\nemail=x\n"},
	{"Terraform", "variable \"db_password\" {\n  default = \"«{A16}»\"\n}\n"},
	{"systemd", "Environment=\"API_TOKEN=«{A30}»\" \"LR=0.1\"\n"},
	{"compose", "environment:\n  - REDIS_PASSWORD=«{a14}»\n  - LR=0.1\n"},
	{"S3 settings", "[default]\nhost_base = host\naccess_key = «{U20}»\nsecret_key = «{A40}»\n"},
	{"gitlab runner", "[[runners]]\n  name = \"x\"\n  token = \"«{w20}»\"\n"},
	{"CLI config", "{\n  \"credential\": \"«{A40}»\",\n  \"session\": \"«{A32}»\"\n}"},
}

func wholeFile(n int, r *rand.Rand) Form {
	f := files[n%len(files)]
	text := fill(f.text, r)
	var b strings.Builder
	var found []string
	for {
		before, rest, ok := strings.Cut(text, "«")
		b.WriteString(before)
		if !ok {
			break
		}
		secret, after, _ := strings.Cut(rest, "»")
		if inner, is := strings.CutPrefix(secret, "#"); is {
			secret = base64.StdEncoding.EncodeToString([]byte(strings.TrimSuffix(inner, "#")))
		}
		b.WriteString(secret)
		found = append(found, parts(secret)...)
		text = after
	}
	out := Form{Issuer: "file", Carrier: f.name, Encoding: "plain", Wrapping: "one file", Text: b.String(), Parts: found}
	switch n / len(files) % 3 {
	case 1:
		out.Wrapping, out.Text = "below a prefix", lines(out.Text, "2026-03-04 11:02:03 node07: ")
	case 2:
		out.Wrapping, out.Text = "CR LF", strings.ReplaceAll(out.Text, "\n", "\r\n")
	}
	return out
}
