import type { ReactNode } from 'react';
import type { Power } from '../../shared/companion/settings.ts';

/** A stroke icon on a 20 × 20 grid, in the colour of the text. Icons are decorative: the text has the meaning. */
function createIcon(shape: ReactNode) {
  return function Icon({ size = 20 }: { size?: number }) {
    return (
      <svg
        className="icon"
        width={size}
        height={size}
        viewBox="0 0 20 20"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.5"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
      >
        {shape}
      </svg>
    );
  };
}

export const OverviewIcon = createIcon(
  <>
    <path d="M3 9.2 10 3.5l7 5.7" />
    <path d="M5 8v8.2h10V8" />
    <path d="M8.2 16v-4.4h3.6V16" />
  </>,
);
export const ActivityIcon = createIcon(
  <>
    <circle cx="10" cy="10" r="7" />
    <path d="M10 6v4.2l2.8 1.8" />
  </>,
);
export const PermissionsIcon = createIcon(
  <>
    <path d="M10 2.8 4 5v4.6c0 3.6 2.5 6.3 6 7.6 3.5-1.3 6-4 6-7.600V5z" />
    <path d="m7.4 9.9 1.9 1.9 3.4-3.6" />
  </>,
);
export const CheckIcon = createIcon(<path d="M2.8 10.500h3L8 5l3.8 10 2.3-5.8.9 1.300h2.2" />);
export const SettingsIcon = createIcon(
  <>
    <path d="M3 6h7.500M14.5 6H17M3 14h2.500M9.5 14H17" />
    <circle cx="12.5" cy="6" r="2" />
    <circle cx="7.5" cy="14" r="2" />
  </>,
);
export const PauseIcon = createIcon(<path d="M7 4.500v11M13 4.500v11" strokeWidth="2.5" />);
export const PlayIcon = createIcon(<path d="M6.5 4.200v11.600L15.5 10z" fill="currentColor" />);
export const LinkIcon = createIcon(
  <>
    <path d="m8.4 11.6 3.2-3.2" />
    <path d="M9.5 6.5 11.6 4.400a2.8 2.8 0 0 1 4 4l-2.1 2.1" />
    <path d="m10.5 13.5-2.1 2.100a2.8 2.8 0 0 1-4-4l2.1-2.1" />
  </>,
);
export const WarningIcon = createIcon(
  <>
    <path d="M10 3.5 17.2 16H2.800z" />
    <path d="M10 8.300v3.400M10 13.900v.1" />
  </>,
);
export const TickIcon = createIcon(<path d="m4.5 10.5 3.7 3.7 7.3-8" />);
export const CrossIcon = createIcon(<path d="m5.5 5.5 9 9m0-9-9 9" />);
export const PlusIcon = createIcon(<path d="M10 4.500v11M4.5 10h11" />);
export const DownIcon = createIcon(<path d="m5.5 8 4.5 4.500L14.5 8" />);
export const FolderIcon = createIcon(<path d="M2.8 5.500v9.700h14.400V7.200H9.500L7.8 4.800h-5z" />);
const ScreenIcon = createIcon(
  <>
    <rect x="2.8" y="3.8" width="14.4" height="9.6" rx="1.5" />
    <path d="M10 13.500v2.800M6.8 16.500h6.4" />
  </>,
);
const CameraIcon = createIcon(
  <>
    <path d="M3 6.500h3.200l1.4-2h4.800l1.4 2H17v9H3z" />
    <circle cx="10" cy="10.7" r="2.7" />
  </>,
);
const MicrophoneIcon = createIcon(
  <>
    <rect x="7.6" y="2.8" width="4.8" height="8.6" rx="2.4" />
    <path d="M4.8 9.500a5.2 5.2 0 0 0 10.4 0M10 14.700v2.5" />
  </>,
);
const ProgramIcon = createIcon(
  <>
    <rect x="2.8" y="3.8" width="14.4" height="12.4" rx="1.5" />
    <path d="m5.8 7.5 2.5 2.3-2.5 2.300M10.2 12.300h3.6" />
  </>,
);
const BrowserIcon = createIcon(
  <>
    <circle cx="10" cy="10" r="7.2" />
    <path d="M2.8 10h14.400M10 2.800c2.2 2 3.2 4.4 3.2 7.200s-1 5.2-3.2 7.200c-2.2-2-3.2-4.4-3.2-7.200s1-5.2 3.2-7.200z" />
  </>,
);
export const PingIcon = createIcon(<path d="M4 10h12m-4.5-4.500L16 10l-4.5 4.5" />);

export const powerIcons: Record<Power, ReturnType<typeof createIcon>> = {
  screen: ScreenIcon,
  camera: CameraIcon,
  audio: MicrophoneIcon,
  files: FolderIcon,
  system: ProgramIcon,
  browser: BrowserIcon,
};

/** The mark of the product: a hull and the float beside it, held by two booms. */
export function Mark({ size = 28 }: { size?: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 28 28" fill="none" aria-hidden="true">
      <rect className="mark-ground" width="28" height="28" rx="7" />
      <path className="mark-line" d="M10.5 5.500c-2.8 5.5-2.8 11.5 0 17 2.8-5.5 2.8-11.5 0-17z" />
      <path className="mark-line" d="M20 9v10M12.4 11H20M12.4 17H20" />
    </svg>
  );
}
