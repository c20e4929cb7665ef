package training

// Presets are the models known by name, in the order of the reference. Figures
// are those of the models' own papers.
var presets = []Model{
	{ // Devlin et al. 2018
		Name: "bert-large", Parameters: 340e6, Layers: 24, Hidden: 1024, Sequence: 512, Bytes: 2,
	},
	{ // He et al. 2015: 25.6 M parameters, 3.8 G multiply-adds for an image of 224 x 224
		Name: "resnet-50", Parameters: 25.6e6, ForwardFLOPs: 7.6e9, Bytes: 2,
	},
	{ // Lang et al. 2019: 4.8 M parameters; time is lost in voxelisation, so it must be measured
		Name: "pointpillars", Parameters: 4.8e6, Bytes: 4,
	},
	{ // Brown et al. 2020
		Name: "gpt3-175b", Parameters: 175e9, Layers: 96, Hidden: 12288, Sequence: 2048, Bytes: 2,
	},
	{ // Llama Team 2024
		Name: "llama3-405b", Parameters: 405e9, Layers: 126, Hidden: 16384, Sequence: 8192, Bytes: 2,
	},
}

// Presets lists the names of known models.
func Presets() []string {
	var names []string
	for i := range presets {
		names = append(names, presets[i].Name)
	}
	return names
}

// Preset returns a known model, and false for another name.
func Preset(name string) (Model, bool) {
	for i := range presets {
		if presets[i].Name == name {
			return presets[i], true
		}
	}
	return Model{}, false
}
