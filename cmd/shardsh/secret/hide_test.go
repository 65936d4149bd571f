package secret

import (
	"strings"
	"testing"
)

// What ps shows of a command line.
func TestSecretsAreHidden(t *testing.T) {
	tests := []struct{ args, want string }{
		{"mongodb://joe:secret@h:1/db", "mongodb://joe:xxxxxx@h:1/db"},
		{"mongodb+srv://joe:p:w@h/db", "mongodb+srv://joe:xxx@h/db"},
		{"mongodb://joe@h:1", "mongodb://joe@h:1"},
		{"mongodb://h:1/db", "mongodb://h:1/db"},
		{"mongodb://h/?tlsCertificateKeyFilePassword=abc&x=y", "mongodb://h/?tlsCertificateKeyFilePassword=xxx&x=y"},
		{"mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:abc",
			"mongodb://h/?authMechanismProperties=xxxxxxxxxxxxxxxxxxxxx"},
		{"script.js", "script.js"},
		{"-u joe -p secret h", "-u joe -p xxxxxx h"},
		{"-u joe -p=secret", "-u joe -p=xxxxxx"},
		{"-u joe -psecret", "-u joe -pxxxxxx"},
		{"-u joe -p --tls", "-u joe -p --tls"},
		{"--password secret --passwordFile f", "--password xxxxxx --passwordFile f"},
		{"--password=secret", "--password=xxxxxx"},
		{"--tls-certificate-key-file-password abc", "--tls-certificate-key-file-password xxx"},
		{"--sslPEMKeyPassword=abc", "--sslPEMKeyPassword=xxx"},
		{"--awsSecretAccessKey abc", "--awsSecretAccessKey xxx"},
		{"--awsIamSessionToken abc h", "--awsIamSessionToken xxx h"},
		{"--eval connect('mongodb://u:pw@h')", "--eval connect('xxxxxxxxxxxxxxxx')"},
		{"joe:secret@h:1", "joe:xxxxxx@h:1"},
		{"joe:sec:re@t@h:1/db", "joe:xxxxxxxx@h:1/db"},
		{"mongo://joe:secret@h:1/db", "mongo://joe:xxxxxx@h:1/db"},
		{"mongodb:/joe:secret@h", "mongodb:/joe:xxxxxx@h"},
		{"mongdb+srv://joe:secret@h", "mongdb+srv://joe:xxxxxx@h"},
		{"https://joe:secret@h", "https://joe:xxxxxx@h"},
		{"h:27017/db", "h:27017/db"},
		{"--eval db.auth('joe','secret')", "--eval db.auth('xxx','xxxxxx')"},
		{"--eval let/**/pwd=`secret`", "--eval let/**/pwd=`xxxxxx`"},
		{"--eval db.c.find('x')", "--eval db.c.find('x')"},
		{"--set dbPassword=secret x.js", "--set dbPassword=xxxxxx x.js"},
		{"--set=token=secret x.js", "--set=xxxxxxxxxxxx x.js"},
		{"--setJSON secret={\"a\":1}", "--setJSON secret=xxxxxxx"},
		{"--set ns=a.b", "--set ns=a.b"},
		{"x.js -- --api-token secret", "x.js -- --api-token xxxxxx"},
	}
	for _, tt := range tests {
		var args []string
		for _, word := range strings.Fields(tt.args) {
			args = append(args, string([]byte(word))) // memory that can be written
		}
		HideInProcessList(args)
		if got := strings.Join(args, " "); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
}

func TestRedact(t *testing.T) {
	for text, want := range map[string]string{
		"dial mongodb://joe:se/cr@t@h:1/ failed":           "dial mongodb://<credentials>@h:1/ failed",
		"mongodb://h/?tlsCertificateKeyFilePassword=x&y=z": "mongodb://h/?tlsCertificateKeyFilePassword=<credentials>&y=z",
		"mongodb://h/db": "mongodb://h/db",
		`"joe:s3cret@h:1" is neither an address nor a script`: `"<credentials>@h:1" is neither an address nor a script`,
		`"mongo://joe:s3cret@h" is neither`:                   `"mongo://<credentials>@h" is neither`,
		`"mongodb:/joe:s3:cr@et@h" is neither`:                `"mongodb:/<credentials>@h" is neither`,
		"at 12:30 mail to joe@example.com":                    "at 12:30 mail to joe@example.com",
		"127.0.0.1:27017: connection refused":                 "127.0.0.1:27017: connection refused",
	} {
		if got := Redact(text); got != want {
			t.Errorf("Redact(%q) = %q", text, got)
		}
	}
}
