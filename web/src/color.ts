// Colours that people with any kind of colour vision tell apart: utilisation is
// a scale of lightness from blue to yellow, pause is a vermilion hatch.
type RGB = readonly [number, number, number];

const darkScale: RGB[] = [[45, 62, 92], [62, 96, 145], [105, 128, 140], [178, 165, 90], [253, 231, 55]];
const lightScale: RGB[] = [[206, 214, 226], [150, 178, 210], [86, 135, 182], [35, 85, 140], [8, 35, 80]];

export function dark(): boolean {
  return document.documentElement.dataset.theme !== "light";
}

function mix(scale: RGB[], share: number): RGB {
  const x = Math.min(Math.max(share, 0), 1) * (scale.length - 1);
  const i = Math.min(Math.floor(x), scale.length - 2);
  const a = scale[i]!, b = scale[i + 1]!, k = x - i;
  return [a[0] + (b[0] - a[0]) * k, a[1] + (b[1] - a[1]) * k, a[2] + (b[2] - a[2]) * k];
}

export function utilisationRGB(share: number): RGB {
  return mix(dark() ? darkScale : lightScale, share);
}

const css = (c: RGB) => `rgb(${c[0] | 0},${c[1] | 0},${c[2] | 0})`;

export function utilisation(share: number): string {
  return Number.isNaN(share) ? variable("--unknown") : css(utilisationRGB(share));
}

// heat colours of the levels 0 to 250: pause from the ground to vermilion,
// marks from the ground to yellow or blue.
const heatScales: Record<string, RGB[]> = {
  "pause-dark": [[20, 28, 40], [90, 45, 40], [170, 70, 30], [230, 110, 30], [255, 190, 120]],
  "pause-light": [[246, 247, 249], [250, 215, 190], [240, 160, 100], [213, 94, 0], [120, 40, 0]],
  "marks-dark": [[20, 28, 40], [40, 70, 110], [70, 120, 150], [130, 180, 160], [240, 228, 120]],
  "marks-light": [[246, 247, 249], [200, 220, 238], [120, 170, 215], [30, 110, 175], [0, 50, 110]],
};

export function heatTable(kind: "pause" | "marks"): Uint32Array {
  const scale = heatScales[kind + (dark() ? "-dark" : "-light")]!;
  const out = new Uint32Array(256);
  const none: RGB = dark() ? [48, 52, 60] : [222, 222, 226];
  for (let i = 0; i < 256; i++) {
    const c = i > 250 ? none : mix(scale, i / 250);
    out[i] = (255 << 24) | ((c[2] & 255) << 16) | ((c[1] & 255) << 8) | (c[0] & 255);
  }
  return out;
}

// A level is 250 times the square root of a share.
export const share = (level: number) => (level > 250 ? NaN : (level / 250) ** 2);

const cache = new Map<string, string>();

export function variable(name: string): string {
  const key = name + document.documentElement.dataset.theme;
  let v = cache.get(key);
  if (v === undefined) {
    v = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    cache.set(key, v);
  }
  return v;
}
