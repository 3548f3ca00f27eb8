const Icon = ({ path, look = '' }: { path: string; look?: string }) => (
  <svg class={`icon ${look}`} viewBox="0 0 24 24" aria-hidden="true">
    <path d={path} />
  </svg>
);

const handset =
  'M6.5 3.5h3l1.6 4.2-2 1.5a12 12 0 0 0 5.7 5.7l1.5-2 4.2 1.6v3a2 2 0 0 1-2.2 2A16.6 16.6 0 0 1 4.5 5.7a2 2 0 0 1 2-2.2Z';

export const CallIcon = () => <Icon path={handset} />;
export const HangUpIcon = () => (
  <Icon path="M3 14.2v-1.7C5.4 10.1 8.6 9 12 9s6.6 1.1 9 3.5v1.7a1 1 0 0 1-1.2 1l-3.2-.7a1 1 0 0 1-.8-1v-1.6a12 12 0 0 0-7.6 0v1.6a1 1 0 0 1-.8 1l-3.2.7a1 1 0 0 1-1.2-1Z" />
);
export const MuteIcon = () => (
  <Icon path="M9 9.5V6a3 3 0 0 1 6 0v5.5M14.4 14A3 3 0 0 1 9 12M5.5 11.5a6.5 6.5 0 0 0 10.8 4.9M18.5 11.5a6.5 6.5 0 0 1-.5 2.5M12 18v3M8.5 21h7M4 4l16 16" />
);
export const HoldIcon = () => <Icon path="M9 6v12M15 6v12" />;
export const KeypadIcon = () => (
  <Icon look="dots" path="M6 6h.01M12 6h.01M18 6h.01M6 12h.01M12 12h.01M18 12h.01M6 18h.01M12 18h.01M18 18h.01" />
);
export const InboundIcon = () => <Icon path="M18 6 7 17M7 9v8h8" />;
export const BetweenIcon = () => <Icon path="M4 12h16M14 6l6 6-6 6" />;
export const OutboundIcon = () => <Icon path="M6 18 17 7M9 7h8v8" />;
