package scrape

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FromKubernetes are the running pods of a selector: the agents of a
// DaemonSet. The node's name is the instance.
type FromKubernetes struct {
	API       string // URL of the API server
	Client    *http.Client
	Token     func() (string, error)
	Namespace string // "" for all
	Selector  string // of labels
	Port      int
	Scheme    string // default https
}

// serviceAccount is where a pod finds its credentials.
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// InCluster fills in API, Client and Token from the pod that this program
// runs in.
func (k FromKubernetes) InCluster() (FromKubernetes, error) {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" {
		return k, errors.New("agents.kubernetes works inside of a cluster only: KUBERNETES_SERVICE_HOST is not set")
	}
	ca, err := os.ReadFile(serviceAccount + "ca.crt")
	if err != nil {
		return k, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return k, errors.New(serviceAccount + "ca.crt holds no certificate")
	}
	k.API = "https://" + net.JoinHostPort(host, cmp.Or(port, "443"))
	k.Client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	// The token is renewed in its file.
	k.Token = func() (string, error) {
		b, err := os.ReadFile(serviceAccount + "token")
		return strings.TrimSpace(string(b)), err
	}
	return k, nil
}

type podList struct {
	Metadata struct{ Continue string }
	Items    []struct {
		Spec   struct{ NodeName string }
		Status struct {
			Phase string
			PodIP string
		}
	}
}

// maxPodPage bounds one answer of the API server.
const maxPodPage = 64 << 20

// Targets asks the API server, page by page.
func (k FromKubernetes) Targets(ctx context.Context) ([]Target, error) {
	var out []Target
	for next := ""; ; {
		page, err := k.page(ctx, next)
		if err != nil {
			return nil, err
		}
		for _, p := range page.Items {
			if p.Status.Phase != "Running" || p.Status.PodIP == "" {
				continue
			}
			u := url.URL{Scheme: cmp.Or(k.Scheme, "https"), Host: net.JoinHostPort(p.Status.PodIP, strconv.Itoa(k.Port)), Path: "/metrics"}
			out = append(out, Target{URL: u.String(), Instance: cmp.Or(p.Spec.NodeName, p.Status.PodIP)})
		}
		if next = page.Metadata.Continue; next == "" || len(out) > MaxTargets {
			// The API server gives no order that could be relied on.
			slices.SortFunc(out, func(a, b Target) int { return cmp.Compare(a.key(), b.key()) })
			return out, nil
		}
	}
}

func (k FromKubernetes) page(ctx context.Context, next string) (*podList, error) {
	path := "/api/v1/pods"
	if k.Namespace != "" {
		path = "/api/v1/namespaces/" + url.PathEscape(k.Namespace) + "/pods"
	}
	q := url.Values{"limit": {"500"}, "labelSelector": {k.Selector}}
	if next != "" {
		q.Set("continue", next)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.API+path+"?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	token, err := k.Token()
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Accept", "application/json")
	resp, err := k.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("kubernetes: status %d for %s", resp.StatusCode, path)
	}
	var page podList
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxPodPage)).Decode(&page); err != nil {
		return nil, fmt.Errorf("kubernetes: %w", err)
	}
	return &page, nil
}
