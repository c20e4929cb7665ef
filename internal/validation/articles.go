package validation

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"weir/internal/cluster"
	"weir/internal/twin"
)

const article = "published field figures, examined in docs/articles"

// articleTargets are the published field figures, from the examples.
func articleTargets() []Target {
	return []Target{
		{ID: "S1", Title: "256-node BERT-large: one bucket, and the utilisation of large messages", Source: article, Long: true, Run: bertLarge},
		{ID: "S2", Title: "PointPillars on 64 x 8 A100", Source: article, Run: pointPillars},
		{ID: "S3", Title: "ResNet-50: 8 h to 5 h", Source: article, Run: resNet},
		{ID: "S5", Title: "Eight cards of one server to eight of another: hash collision", Source: article, Run: hashCollision},
		{ID: "S6", Title: "Fixed source port on two equal links", Source: article, Run: fixedSourcePort},
	}
}

// example loads a file of the examples directory, from wherever in the
// repository the program runs.
func example(name string, set ...string) (*cluster.Cluster, error) {
	for _, dir := range []string{"examples", "../examples", "../../examples"} {
		text, err := os.ReadFile(dir + "/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f, err := cluster.Parse(name, text, set)
		if err != nil {
			return nil, err
		}
		return f.Cluster, nil
	}
	return nil, errors.New("examples/" + name + " not found: run from the repository")
}

func runExample(ctx context.Context, name string, set ...string) (*twin.Result, error) {
	c, err := example(name, set...)
	if err != nil {
		return nil, err
	}
	r, err := twin.Run(ctx, c, twin.Options{})
	if err == nil && r.Interrupted {
		err = ctx.Err()
	}
	return r, err
}

func bertLarge(ctx context.Context) ([]Row, error) {
	r, err := runExample(ctx, "bert-large-256.yaml")
	if err != nil {
		return nil, err
	}
	rows := []Row{Near("RoCEv2: 25 MiB over 256 nodes of 8 x 200G", 1.2, r.Collectives[0].Time.Seconds()*1e3, 0.05, "ms")}
	flows, err := runExample(ctx, "bert-large-256.yaml", "host.count=2", "job.pattern=permutation", "job.size=64M", "qos.mtu=1024")
	if err != nil {
		return nil, err
	}
	var bytes, last float64
	for _, f := range flows.Flows {
		bytes += float64(f.Bytes)
		last = max(last, (f.Start + f.FCT).Seconds())
	}
	share := 100 * bytes * 8 / last / (200e9 * float64(len(flows.Flows)))
	return append(rows, Points("RoCEv2: useful share of line rate, large messages, MTU 1024", 92, share, 2, "%")), nil
}

func pointPillars(ctx context.Context) ([]Row, error) {
	r, err := runExample(ctx, "pointpillars-64x8.yaml")
	if err != nil {
		return nil, err
	}
	s := &r.Steps[0]
	return []Row{
		Points("RoCEv2: GPU utilisation", 89, 100*s.GPUUtilisation, 1, "%").because("the compute time of 4.3 ms is chosen for this share; the article gives none"),
		Near("RoCEv2: one bucket of 19.2 MB", 0.746, s.Parts[0].Time.Seconds()*1e3, 0.30, "ms").because("closed form with 1.5 us a step; the model's four channels overlap steps"),
		Near("RoCEv2: epoch", 97, s.Epoch.Seconds()/60, 0.01, "min").because("the size of the data set is chosen for this; the article gives none"),
	}, nil
}

func resNet(ctx context.Context) ([]Row, error) {
	r, err := runExample(ctx, "resnet-50-32.yaml")
	if err != nil {
		return nil, err
	}
	s := &r.Steps[0]
	// With 43.5 % of a TCP step in communication, 5/8 of its time leaves 9.6 %
	// of a RoCE step: (5/8 - 0.565) / (5/8).
	return []Row{Points("RoCEv2: communication share of a step", 9.6, 100*s.CommunicationShare, 4, "%")}, nil
}

func hashCollision(ctx context.Context) ([]Row, error) {
	r, err := runExample(ctx, "eight-cards-collision.yaml")
	if err != nil {
		return nil, err
	}
	healthy, err := runExample(ctx, "eight-cards-collision.yaml", "routing.mode=adaptive")
	if err != nil {
		return nil, err
	}
	hit, fine := busBW(&r.Collectives[0]), busBW(&healthy.Collectives[0])
	return []Row{
		Near("share of the bandwidth that is left, four connections on one uplink", 0.25, hit/fine, 0.10, ""),
		Near("adaptive routing: share of ideal", 1, fine/98.04, 0.05, ""),
	}, nil
}

func fixedSourcePort(ctx context.Context) ([]Row, error) {
	var rates [2]float64
	for i, set := range [][]string{nil, {"rdma.source_ports=per-qp"}} {
		r, err := runExample(ctx, "fixed-source-port.yaml", set...)
		if err != nil {
			return nil, err
		}
		var bytes, last float64
		for _, f := range r.Flows {
			bytes += float64(f.Bytes)
			last = max(last, (f.Start + f.FCT).Seconds())
		}
		rates[i] = bytes * 8 / last / 1e9
	}
	// 200 Gb/s of card, 0.980 of it payload (V01).
	return []Row{
		Near("one port number: half of 196 Gb/s", 98.0, rates[0], 0.01, "Gb/s"),
		Between("a port for each of the queue pairs", 100, 196.1, rates[1], "Gb/s"),
	}, nil
}

// stepVolumes are the rows of a step's volumes and of its overlap.
func stepVolumes() []Target {
	const pkg = "internal/training"
	return []Target{
		{ID: "V63", Title: "GPT-3 175B message sizes", Source: "aliyun/aicb (commit 23eec3c)", Run: byTest(
			testRow{"tensor-parallel payload", "50 331 648 B", "exact", pkg, "TestPayload"})},
		{ID: "V64", Title: "Volume per step and dimension", Source: "Megatron-LM 2019, 2021; ZeRO 2020", Run: byTest(
			testRow{"GPT-3, t = p = 8, d = 8, 16, 64", "9.57, 10.25, 10.77 GB", "±0.1 %", pkg, "TestVolume"},
			testRow{"the operations of a step add up to the closed forms", "V64", "±1e-6", pkg, "TestProgramVolumes"})},
		{ID: "V67", Title: "Bucketed overlap", Source: "closed form", Run: byTest(
			testRow{"ten buckets of 1, 5.4, 8 and 20 ms behind a backward pass of 60 ms", "V67", "0.01 ms", "internal/twin", "TestBucketedOverlap"})},
	}
}
