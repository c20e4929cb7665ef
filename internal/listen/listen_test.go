package listen

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"weir/internal/input"
)

// certificate writes a self-signed one for 127.0.0.1 and returns the pool that
// trusts it.
func certificate(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(cert)
	return pool
}

// users returns a configuration's part with one user, whose password is
// "test".
func users(t *testing.T) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("test"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return "basic_auth_users:\n  alice: " + string(hash) + "\n"
}

func TestTLSAndAuthentication(t *testing.T) {
	dir := t.TempDir()
	pool := certificate(t, dir)
	config := filepath.Join(dir, "web.yml")
	if err := os.WriteFile(config, []byte("tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n"+users(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	// Beyond loopback: this configuration allows it.
	o := Options{Address: "0.0.0.0:0", WebConfig: config}
	l, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "counters") })
	go func() { ended <- Serve(ctx, l, h, o, slog.New(slog.DiscardHandler)) }()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	ask := func(scheme, user, password string) (int, string) {
		r, err := http.NewRequest("GET", scheme+"://127.0.0.1:"+port+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		if user != "" {
			r.SetBasicAuth(user, password)
		}
		tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr, Timeout: 10 * time.Second}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	if status, body := ask("https", "alice", "test"); status != 200 || body != "counters" {
		t.Errorf("the right password: %d %q", status, body)
	}
	if status, _ := ask("https", "alice", "guess"); status != 401 {
		t.Errorf("a wrong password: %d", status)
	}
	if status, _ := ask("https", "", ""); status != 401 {
		t.Errorf("no password: %d", status)
	}
	if status, body := ask("http", "alice", "test"); status == 200 || body == "counters" {
		t.Errorf("plain text: %d %q", status, body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestRule(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir)
	file := func(name, text string) string {
		full := filepath.Join(dir, name)
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return full
	}
	plain := file("users.yml", users(t))
	open := file("tls.yml", "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n")
	mutual := file("mutual.yml", "tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_ca_file: cert.pem, client_auth_type: RequireAndVerifyClientCert}\n")
	for _, c := range []struct {
		o  Options
		ok bool
	}{
		{Options{Address: "127.0.0.1:0"}, true},
		{Options{Address: "[::1]:0"}, true},
		{Options{Address: "localhost:0"}, true},
		{Options{Address: "0.0.0.0:0"}, false},
		{Options{Address: ":0"}, false},
		{Options{Address: "0.0.0.0:0", Insecure: true}, false},
		{Options{Address: "0.0.0.0:0", WebConfig: plain}, false},
		{Options{Address: "0.0.0.0:0", WebConfig: plain, Insecure: true}, true},
		{Options{Address: "0.0.0.0:0", WebConfig: open}, false},
		{Options{Address: "0.0.0.0:0", WebConfig: mutual}, true},
		{Options{Address: "127.0.0.1:0", WebConfig: filepath.Join(dir, "nowhere.yml")}, false},
		{Options{Address: "127.0.0.1:0", WebConfig: file("bad.yml", "users: 1\n")}, false},
		{Options{Address: "8080"}, false},
	} {
		l, err := Open(context.Background(), c.o)
		if err == nil {
			l.Close()
		}
		if c.o.Address == "[::1]:0" && err != nil && !input.IsRefusal(err) {
			continue // no IPv6 here
		}
		if (err == nil) != c.ok || err != nil && !input.IsRefusal(err) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}
