package main

import (
	"strings"
	"testing"
)

// Usage errors name the argument and the remedy, and exit with 2.
func TestAddressErrors(t *testing.T) {
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"mongodb://h/", "--port", "1"}, "--host or --port"},
		{[]string{"h:1", "--port", "1"}, "--host or --port"},
		{[]string{"h.example", "--host", "h2"}, "--host or --port"},
		{[]string{"--host", "h1,h2:2", "--port", "1"}, "--host names port 2 and --port is 1"},
		{[]string{"--host", "h!x"}, "--host has an invalid character: '!'"},
		{[]string{"--host", "mongodb://h"}, "give a connection string as the address"},
		{[]string{"--port", "70000"}, "1 to 65535"},
		{[]string{"--port", "x"}, "1 to 65535"},
		{[]string{"--port"}, "--port needs a value"},
		{[]string{"a:b"}, `"b" is not a port`},
		{[]string{":27017"}, `":27017" is neither an address nor a script that exists: the name of a host is missing`},
		{[]string{"/nowhere/script"}, "neither an address nor a script"},
		{[]string{"a b"}, "neither an address nor a script"},
		{[]string{"--host", "h", "a$b"}, "neither an address nor a script"},
		{[]string{"h:1/a.b"}, `"a.b" can't be the name of a database`},
		{[]string{"mongodb://"}, "names no host"},
		{[]string{"mongodb://h/?nope=1"}, "not supported: nope"},
		{[]string{"mongodb://h/?tlsAllowInvalidCertificates=maybe"}, "tlsAllowInvalidCertificates takes true or false"},
		{[]string{"--port", "1", "-p", "secret"}, "--password needs --username"},
		{[]string{"h:1", "-p", "27018"}, "-p is short for --password, not for --port"},
		{[]string{"h:1", "-u", "joe", "-p", "mongodb://h"}, "--password was given a connection string"},
		{[]string{"h:1", "-u", "joe", "-psecret"}, "options of one letter stand alone"},
		{[]string{"h:1", "-u", "joe", "-p", "x", "--passwordFile", "y"}, "exclude each other"},
		{[]string{"h:1", "-u", "joe", "--passwordFile", "/nowhere"}, "--passwordFile: open /nowhere"},
		{[]string{"h:1", "--authenticationMechanism", "GSSAPI"}, "Kerberos is not supported, as it needs a C library; log in by SCRAM-SHA-256"},
		{[]string{"h:1", "--gssapiServiceName", "x"}, "Kerberos is not supported"},
		{[]string{"h:1", "--tlsFIPSMode"}, "GODEBUG=fips140=on"},
		{[]string{"h:1", "--sslFIPSMode"}, "GODEBUG=fips140=on"},
		{[]string{"h:1", "--tlsCertificateSelector=x"}, "--tlsCertificateKeyFile"},
		{[]string{"h:1", "--awsAccessKeyId", "x"}, "field level encryption is not built in"},
		{[]string{"h:1", "-u", "joe", "-p", "x", "--awsIamSessionToken", "y"}, "needs --authenticationMechanism MONGODB-AWS"},
		{[]string{"h:1", "--authenticationMechanism", "MONGODB-AWS", "--awsIamSessionToken", "y"},
			"needs --username and --password"},
		{[]string{"--mock", "--awsIamSessionToken", "y"}, "--awsIamSessionToken is for a live cluster"},
		{[]string{"h:1", "--oidcFlows=x"}, "no login with a browser"},
		{[]string{"h:1", "--tls=false", "--tlsAllowInvalidHostnames"}, "--tls=false and other --tls options"},
		{[]string{"h:1", "--tlsCAFile", "/nowhere"}, "--tlsCAFile: stat /nowhere"},
		{[]string{"h:1", "--tlsCRLFile", "address_test.go"}, "no certificate revocation list"},
		{[]string{"h:1", "--tlsCertificateKeyFilePassword", "x"}, "needs --tlsCertificateKeyFile"},
		{[]string{"h:1", "--tlsDisabledProtocols", "SSLv3"}, `not "SSLv3"`},
		{[]string{"h:1", "--tlsDisabledProtocols", "TLS1_2,TLS1_3"}, "leaves no protocol"},
		{[]string{"h:1", "--apiVersion", "2"}, "--apiVersion takes 1"},
		{[]string{"h:1", "--apiStrict"}, "--apiStrict needs --apiVersion"},
		{[]string{"--nodb", "--host", "h"}, "--nodb needs no host"},
		{[]string{"--mock", "--host", "h"}, "--mock and --host"},
		{[]string{"--mock", "-u", "joe"}, "--username is for a live cluster"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			code, _, stderr := runProgram(t, "", append(tt.args, "--eval", "1")...)
			if strings.HasPrefix(tt.want, "--port needs") {
				code, _, stderr = runProgram(t, "", tt.args...)
			}
			if code != exitUsage || !strings.Contains(stderr, tt.want) {
				t.Errorf("exit code %d, stderr %q", code, stderr)
			}
		})
	}
}

// No way to mistype a connection string tells the password.
func TestMistypedAddressesTellNoPassword(t *testing.T) {
	for _, address := range []string{
		"mongodb://joe:secret@127.0.0.1:1/db", "mongodb://joe:se/cret@h/db", "mongodb://joe:sec?ret@h/db",
		"mongodb://joe:sec@ret@h/db", "mongodb://joe:sec:ret@h/db", "mongodb://joe:sec%zzret@h/db",
		"mongodb://joe:sec ret@127.0.0.1:1/db",
		"mongodb://joe:secret@127.0.0.1:1/db?nope=1", "mongodb://joe:secret@127.0.0.1:99999999/db",
		"mongodb://joe:1sec/ret@h/db",
		"mongodb://joe:x@127.0.0.1:1/?authMechanism=PLAIN&tlsCertificateKeyFile=/nowhere&" +
			"tlsCertificateKeyFilePassword=secret",
		"mongodb://joe:secret@",
	} {
		code, stdout, stderr := runProgram(t, "", address, "--eval", "1")
		if code == exitOK || stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q", address, code, stdout)
		}
		for _, part := range []string{"sec", "ret", "cret"} {
			if strings.Contains(strings.ReplaceAll(stderr, "secret=", ""), part) {
				t.Errorf("%s: stderr %q", address, stderr)
			}
		}
	}
}
