package dialect

import (
	"regexp"
	"strings"
)

// Redacted stands where a secret stood.
const Redacted = "<redacted>"

// secretWords come before a secret: all that follows on the line is hidden.
// Words that merely contain one of secretParts count as well
// ("snmp_community", "auth-password").
var (
	secretWords = map[string]bool{
		"key": true, "md5": true, "sha": true, "sha1": true, "sha256": true, "sha512": true, "hmac": true,
		"cipher": true, "irreversible-cipher": true, "hash": true, "simple": true, "auth": true, "priv": true,
		"encrypted": true, "psk": true, "cak": true, "ckn": true, "credential": true, "license": true,
	}
	secretParts = []string{"password", "passwd", "passphrase", "secret", "community", "passkey", "token", "private-key", "private_key",
		"auth-key", "auth_key", "key-string", "keystring", "pre-shared", "presharedkey", "api-key", "apikey", "authentication-key", "shared-key", "ssh-rsa", "ssh-dss", "ssh-ed25519", "ecdsa-sha2"}
)

// secretShapes are secrets that give themselves away: crypt hashes, Junos and
// Huawei ciphers, long runs of base64 or hexadecimal digits.
var secretShapes = regexp.MustCompile(`\$[0-9a-z]{1,4}\$[^\s";]+|%\^%#.*?%\^%#|%@%@.*?%@%@|@%@%.*?@%@%|[A-Za-z0-9+/=]{40,}|-----BEGIN .*`)

// Redact hides what may be a secret in a line of configuration: it prefers to
// hide too much, since such lines are printed for people to look at.
func Redact(line string) string {
	line = secretShapes.ReplaceAllString(line, Redacted)
	for at := 0; at < len(line); {
		start := at + wordStart(line[at:])
		end := start + wordEnd(line[start:])
		if start == end {
			break
		}
		at = end
		if !isSecretWord(strings.ToLower(line[start:end])) {
			continue
		}
		rest := strings.TrimRight(line[end:], " \t\r;,}\"'")
		if value := strings.Trim(rest, " \t:=\"'{["); value == "" || value == Redacted {
			continue
		}
		sep := wordStart(line[end:])
		return line[:end] + line[end:end+sep] + Redacted
	}
	return line
}

func isSecretWord(w string) bool {
	if secretWords[w] {
		return true
	}
	for _, part := range secretParts {
		if strings.Contains(w, part) {
			return true
		}
	}
	return false
}

func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '<' || c == '>' || c >= 0x80
}

func wordStart(s string) int {
	i := 0
	for i < len(s) && !inWord(s[i]) {
		i++
	}
	return i
}

func wordEnd(s string) int {
	i := 0
	for i < len(s) && inWord(s[i]) {
		i++
	}
	return i
}
