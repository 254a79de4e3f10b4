import type { Row } from './bench.ts';

const WIDTH = 1000;
const LABEL_WIDTH = 520;
const ROW_HEIGHT = 26;
const TOP = 40;
/** Longer bars end here. Their number is the exact value. */
const REACHED_MAX = 3;

/** One bar per measured row: its value in relation to its target, which is the vertical line. Longer is better. */
export function chart(rows: readonly Row[]): string {
  const measured = rows.flatMap((row) =>
    row.reached === undefined ? [] : [{ ...row, reached: row.reached }],
  );
  const height = TOP + measured.length * ROW_HEIGHT + 14;
  const scale = (WIDTH - LABEL_WIDTH - 70) / REACHED_MAX;
  const goal = LABEL_WIDTH + scale;
  const bars = measured.map(({ what, target, reached }, index) => {
    const y = TOP + index * ROW_HEIGHT;
    const width = Math.min(reached, REACHED_MAX) * scale;
    const compared = / × (.+)$/.exec(target)?.[1];
    const label = compared === undefined ? what : `${what} (× ${compared})`;
    return [
      `<text class="label" x="${LABEL_WIDTH - 8}" y="${y + 14}">${escape(label)}</text>`,
      `<rect class="${reached >= 1 ? 'met' : 'missed'}" x="${LABEL_WIDTH}" y="${y + 2}" width="${width.toFixed(1)}" height="${ROW_HEIGHT - 8}" rx="3"/>`,
      `<text x="${(LABEL_WIDTH + width + 6).toFixed(1)}" y="${y + 14}">${reached.toFixed(2)}</text>`,
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Each figure in relation to its target">
<style>
text { font: 12px system-ui, sans-serif; fill: #333 }
.label { text-anchor: end }
.met { fill: #2a7f62 }
.missed { fill: #c2622d }
.goal { stroke: #333; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) { text { fill: #ddd } .goal { stroke: #ddd } .met { fill: #4fb38f } .missed { fill: #e08a55 } }
</style>
<text x="${goal.toFixed(1)}" y="18" text-anchor="middle">target</text>
${bars.join('\n')}
<line class="goal" x1="${goal.toFixed(1)}" x2="${goal.toFixed(1)}" y1="26" y2="${height - 8}"/>
</svg>
`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
