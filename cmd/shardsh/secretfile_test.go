package main

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"shardsh/cmd/shardsh/secret"
)

// Every file with a secret in it is refused when others may read it, with what
// to do, and taken when they may not.
func TestSecretFilesAreGuarded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	ca := newAuthority(t)
	cert, key := writeCertificate(t)
	certText, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	keyText, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	text := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	_, taken, _ := net.SplitHostPort(listener.Addr().String()) // so that nothing begins to serve
	const file = "FILE"
	for _, tt := range []struct {
		name    string
		text    string
		args    []string
		guarded bool
	}{
		{"the password of a user of serve", "secret\n", []string{"serve", "--port", taken, "--auth", "me:" + file}, true},
		{"the key of serve", string(keyText), []string{"serve", "--port", taken, "--tls-cert", cert, "--tls-key", file}, true},
		{"a certificate with its key", string(certText) + string(keyText), []string{"serve", "--port", taken, "--tls-cert", file}, true},
		{"a certificate alone", string(certText), []string{"serve", "--port", taken, "--tls-cert", file, "--tls-key", key}, false},
		{"a password", "secret\n", []string{"127.0.0.1:1", "-u", "joe", "--passwordFile", file, "--eval", "1"}, true},
		{"our key", text(ca.client("")), []string{"127.0.0.1:1", "--tlsCertificateKeyFile", file, "--eval", "1"}, true},
		{"our key by its old name", text(ca.client("")), []string{"127.0.0.1:1", "--ssl", "--sslPEMKeyFile", file, "--eval", "1"}, true},
		{"our key in the address", text(ca.client("")), []string{"mongodb://127.0.0.1:1/?tls=true&tlsCertificateKeyFile=" + file, "--eval", "1"}, true},
		{"our key with its password", text(ca.client("locked")), []string{"127.0.0.1:1", "--tlsCertificateKeyFile", file,
			"--tlsCertificateKeyFilePassword", "locked", "--eval", "1"}, false},
	} {
		for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o660, 0o620, 0o600, 0o400} {
			path := writeFile(t, "secret.pem", tt.text)
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			args := make([]string, len(tt.args))
			for i, a := range tt.args {
				args[i] = strings.ReplaceAll(a, file, path)
			}
			_, _, stderr := runProgram(t, "", args...)
			refused := strings.Contains(stderr, fmt.Sprintf("others may read %s (mode %#o): chmod 600 it", path, mode))
			if refused != (tt.guarded && mode&0o077 != 0) {
				t.Errorf("%s with mode %#o: %q", tt.name, mode, stderr)
			}
		}
	}
}

// What is not a file of a secret is not read to its end, and a pipe is one.
func TestSecretFilesAreSmall(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("there is no endless file")
	}
	for _, args := range [][]string{
		{"127.0.0.1:1", "-u", "joe", "--passwordFile", "/dev/zero", "--eval", "1"},
		{"127.0.0.1:1", "--tlsCertificateKeyFile", "/dev/zero", "--eval", "1"},
		{"serve", "--auth", "me:/dev/zero"}, {"serve", "--tls-cert", "/dev/zero"},
	} {
		if code, _, stderr := runProgram(t, "", args...); code == 0 || !strings.Contains(stderr, "is longer than") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, stderr)
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("secret\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer r.Close()
	if text, err := secret.ReadPassword(fmt.Sprintf("/dev/fd/%d", r.Fd())); err != nil || text != "secret" {
		t.Errorf("from a pipe: %q, %v", text, err)
	}
}

// writeRSACertificate makes a certificate and its key in one file.
func writeRSACertificate(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "shardsh test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "rsa.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))+
		string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
}

// Of TLS 1.2 only suites with forward secrecy that protect what they encrypt
// are taken by serve, whatever its key.
func TestServeTakesModernCipherSuites(t *testing.T) {
	cert, key := writeCertificate(t)
	for kind, args := range map[string][]string{
		"_ECDSA_": {"--tls-cert", cert, "--tls-key", key}, "_RSA_": {"--tls-cert", writeRSACertificate(t)},
	} {
		p, taken := startServe(t, args...), 0
		for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
			if !strings.Contains(suite.Name, kind) || strings.HasPrefix(suite.Name, "TLS_AES") {
				continue
			}
			modern := strings.HasPrefix(suite.Name, "TLS_ECDHE_") &&
				(strings.Contains(suite.Name, "_GCM_") || strings.Contains(suite.Name, "_POLY1305_"))
			conn, err := tls.Dial("tcp", p.address(), &tls.Config{
				InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite.ID},
			})
			if (err == nil) != modern {
				t.Errorf("%s: %v", suite.Name, err)
			}
			if err == nil {
				taken++
				conn.Close()
			}
		}
		if taken != 3 {
			t.Errorf("%s: %d suites", kind, taken)
		}
	}
}

// The shell offers no others either.
func TestShellOffersModernCipherSuites(t *testing.T) {
	ca := newAuthority(t)
	var offered []uint16
	config := &tls.Config{Certificates: []tls.Certificate{ca.server("127.0.0.1")},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			offered = hello.CipherSuites
			return nil, nil
		}}
	address := serve(t, unbalanced, withTLS(config)).address
	if code, _, stderr := runProgram(t, "", "mongodb://"+address+"/", "--tlsCAFile", ca.file(), "--eval", "1"); code != 0 {
		t.Fatal(stderr)
	}
	if len(offered) < 4 {
		t.Fatalf("offered %v", offered)
	}
	for _, id := range offered {
		if name := tls.CipherSuiteName(id); strings.Contains(name, "_CBC_") || strings.HasPrefix(name, "TLS_RSA_") {
			t.Errorf("offered %s", name)
		}
	}
}
